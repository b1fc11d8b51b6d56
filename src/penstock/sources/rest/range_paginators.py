"""Paginators that count: by page, or by row. Also runs where penstock is not installed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import UsageError
from penstock.sources.rest.json_paths import json_path, set_value
from penstock.sources.rest.paginators import BasePaginator
from penstock.sources.rest.response_fields import has_more_pages, total_count

if TYPE_CHECKING:
    from requests import Request, Response

    from penstock.interfaces.cursorpath import CursorPath


class RangePaginator(BasePaginator):
    """The base of those that count upwards until something says that it is enough."""

    def __init__(  # noqa: PLR0913 - the arguments are dlt's
        self,
        param_name: str | None,
        initial_value: int,
        value_step: int,
        base_index: int = 0,
        maximum_value: int | None = None,
        total_path: str | CursorPath | None = None,
        error_message_items: str = "items",
        stop_after_empty_page: bool | None = True,  # noqa: FBT001, FBT002 - as above
        *,
        has_more_path: str | CursorPath | None = None,
        param_body_path: str | None = None,
    ) -> None:
        super().__init__()
        if not (total_path or maximum_value is not None or has_more_path or stop_after_empty_page):
            raise UsageError(
                f"{type(self).__name__} would never stop",
                hint="say a total_path, a maximum, a has_more_path or stop_after_empty_page=True",
            )
        if bool(param_name) == bool(param_body_path):
            raise UsageError(
                f"{type(self).__name__} puts its number into the query or into the body, one of them",
                hint="say either the parameter or the path in the body",
            )
        self.param_name, self.param_body_path = param_name, param_body_path
        self.initial_value = self.current_value = initial_value
        self.value_step, self.base_index, self.maximum_value = value_step, base_index, maximum_value
        self.total_path = json_path(total_path) if total_path else None
        self.has_more_path = json_path(has_more_path) if has_more_path else None
        self.error_message_items, self.stop_after_empty_page = error_message_items, stop_after_empty_page

    def init_request(self, request: Request) -> None:
        """Begin at the beginning, however often it was used before."""
        self._has_next_page, self.current_value = True, self.initial_value
        self.update_request(request)

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Count on; an empty page, the total, the maximum or the response itself may end it."""
        if self.stop_after_empty_page and not data:
            self._has_next_page = False
            return
        self.current_value += self.value_step
        if self.total_path is not None:
            total = total_count(self.total_path, response.json(), self)
            self._has_next_page = self.current_value < total + self.base_index
        if self.maximum_value is not None and self.current_value >= self.maximum_value:
            self._has_next_page = False
        if self.has_more_path is not None:
            more = has_more_pages(self.has_more_path, response.json(), self)
            self._has_next_page = self._has_next_page and more

    def within(self, first: int, end: int) -> Self:
        """A copy for the pages that begin in this stretch; the maximum and the total may end it before."""
        part = copy.copy(self)
        part.initial_value = part.current_value = first
        part.maximum_value = end if self.maximum_value is None else min(end, self.maximum_value)
        part.has_more_path = None
        return part

    def end(self, document: Any) -> int:
        """Where the last page ends, as the first response tells it; the maximum may be nearer."""
        ends = [] if self.maximum_value is None else [self.maximum_value]
        if self.total_path is not None:
            ends.append(total_count(self.total_path, document, self) + self.base_index)
        return min(ends)

    def update_request(self, request: Request) -> None:
        """Say where the page begins."""
        self._set_parameter(request, self.current_value, self.param_name, self.param_body_path)

    @staticmethod
    def _set_parameter(request: Request, value: int, param: str | None, body_path: str | None) -> None:
        if body_path:
            request.json = request.json if request.json is not None else {}
            set_value(request.json, body_path, value)
        else:
            request.params = {**(request.params or {}), str(param): value}


class PageNumberPaginator(RangePaginator):
    """Pages have numbers; the total is one of pages, and so is `maximum_page`, which is not asked for.

    >>> PageNumberPaginator(base_page=1, total_path="pages").current_value
    1
    """

    def __init__(
        self,
        base_page: int = 0,
        page: int | None = None,
        page_param: str | None = None,
        total_path: str | CursorPath | None = "total",
        maximum_page: int | None = None,
        stop_after_empty_page: bool | None = True,  # noqa: FBT001, FBT002 - as above
        *,
        has_more_path: str | CursorPath | None = None,
        page_body_path: str | None = None,
    ) -> None:
        super().__init__(
            param_name=_param_name(page_param, page_body_path, "page"),
            param_body_path=page_body_path,
            initial_value=base_page if page is None else page,
            base_index=base_page,
            total_path=total_path,
            value_step=1,
            maximum_value=maximum_page,
            error_message_items="pages",
            stop_after_empty_page=stop_after_empty_page,
            has_more_path=has_more_path,
        )


class OffsetPaginator(RangePaginator):
    """Rows are counted: each page begins `limit` rows after the one before.

    >>> OffsetPaginator(limit=100).limit_param
    'limit'
    """

    def __init__(  # noqa: PLR0913 - the arguments are dlt's
        self,
        limit: int,
        offset: int = 0,
        offset_param: str | None = None,
        limit_param: str | None = None,
        total_path: str | CursorPath | None = "total",
        maximum_offset: int | None = None,
        stop_after_empty_page: bool | None = True,  # noqa: FBT001, FBT002 - as above
        *,
        has_more_path: str | CursorPath | None = None,
        offset_body_path: str | None = None,
        limit_body_path: str | None = None,
    ) -> None:
        super().__init__(
            param_name=_param_name(offset_param, offset_body_path, "offset"),
            param_body_path=offset_body_path,
            initial_value=offset,
            total_path=total_path,
            value_step=limit,
            maximum_value=maximum_offset,
            stop_after_empty_page=stop_after_empty_page,
            has_more_path=has_more_path,
        )
        self.limit, self.limit_body_path = limit, limit_body_path
        self.limit_param = _param_name(limit_param, limit_body_path, "limit")
        if bool(self.limit_param) == bool(limit_body_path):
            raise UsageError(
                "a limit goes into the query or into the body, one of them",
                hint="say either limit_param or limit_body_path",
            )

    def update_request(self, request: Request) -> None:
        """Say where the page begins, and how long it is."""
        super().update_request(request)
        self._set_parameter(request, self.limit, self.limit_param, self.limit_body_path)


def _param_name(param: str | None, body_path: str | None, default: str) -> str | None:
    return default if param is None and body_path is None else param
