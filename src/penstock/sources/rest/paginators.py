"""Paginators: the request for the next page, and the end of the pages.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urljoin, urlsplit

from penstock.errors import ResponseNotUnderstood, UsageError
from penstock.sources.rest.json_paths import first_value, json_path, path_text, set_value
from penstock.sources.rest.urls import keep_https

if TYPE_CHECKING:
    from requests import Request, Response

    from penstock.interfaces.cursorpath import CursorPath


class BasePaginator(ABC):
    """The base of paginators: `update_state` reads a response, `update_request` prepares the next request.

    Set `_has_next_page` to False in `update_state` after the last page.
    """

    def __init__(self) -> None:
        self._has_next_page = True

    @property
    def has_next_page(self) -> bool:
        """Whether another page exists."""
        return self._has_next_page

    def init_request(self, request: Request) -> None:  # noqa: B027 - most paginators need nothing here
        """Prepare the first request."""

    @abstractmethod
    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Update the state from a response and from the rows that were selected in it."""

    @abstractmethod
    def update_request(self, request: Request) -> None:
        """Change the request into the request for the next page."""

    def __str__(self) -> str:
        return type(self).__name__


class SinglePagePaginator(BasePaginator):
    """A paginator for endpoints with one page.

    >>> SinglePagePaginator().has_next_page
    True
    """

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """End after this page."""
        self._has_next_page = False

    def update_request(self, request: Request) -> None:
        """Leave the request unchanged."""


class BaseReferencePaginator(BasePaginator):
    """The base of paginators that copy a reference from a response into the next request."""

    def __init__(self) -> None:
        super().__init__()
        self._reference: str | None = None
        self._last_fingerprint: bytes | None = None
        self._seen_fingerprints: set[bytes] = set()

    def init_request(self, request: Request) -> None:
        """Reset the paginator, which may have been used before."""
        self._has_next_page, self._reference = True, None
        self._last_fingerprint, self._seen_fingerprints = None, set()

    @property
    def _next_reference(self) -> str | None:
        return self._reference

    @_next_reference.setter
    def _next_reference(self, reference: str | None) -> None:
        self._reference, self._has_next_page = reference, reference is not None

    def _advance(self, reference: str | None, path: str, rows: list[Any] | None) -> None:
        """Continue with a reference; an empty one means the end.

        A repeated reference is valid if the server tracks the position and returns other rows each time.
        """
        reference = reference or None
        if reference is not None and rows is not None and self._is_repeated(reference, rows):
            raise ResponseNotUnderstood(
                paginator=str(self), path=path, wanted="another page", found="the same page repeatedly"
            )
        self._next_reference = reference

    def _is_repeated(self, reference: str, rows: list[Any]) -> bool:
        """Return whether the pages form a loop, of one page or of several."""
        page = fingerprint(reference, rows)
        if reference == self._reference:
            previous, self._last_fingerprint = self._last_fingerprint, page
            return previous == page
        is_seen, self._last_fingerprint = page in self._seen_fingerprints, None
        self._seen_fingerprints.add(page)
        return is_seen


class BaseNextUrlPaginator(BaseReferencePaginator):
    """The base of paginators that receive the URL of the next page."""

    def update_request(self, request: Request) -> None:
        """Set the next URL, which includes the query."""
        if self._next_reference is None:
            return
        is_absolute = bool(urlsplit(self._next_reference).scheme)
        url = self._next_reference if is_absolute else urljoin(str(request.url), self._next_reference)
        request.url, request.params = keep_https(str(request.url), url), {}


class JSONLinkPaginator(BaseNextUrlPaginator):
    """A paginator that reads the URL of the next page from the JSON of a response.

    >>> str(JSONLinkPaginator("links.next"))
    'JSONLinkPaginator'
    """

    def __init__(self, next_url_path: str | CursorPath = "next") -> None:
        super().__init__()
        self.next_url_path = json_path(next_url_path)

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the URL; without one this is the last page."""
        self._advance(first_value(self.next_url_path, response.json()), path_text(self.next_url_path), data)


class JSONResponsePaginator(JSONLinkPaginator):
    """The former name of `JSONLinkPaginator`."""


class HeaderLinkPaginator(BaseNextUrlPaginator):
    """A paginator that reads the URL of the next page from the `Link` header, as on GitHub."""

    def __init__(self, links_next_key: str = "next") -> None:
        super().__init__()
        self.links_next_key = links_next_key

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the header; without it this is the last page."""
        self._advance(response.links.get(self.links_next_key, {}).get("url"), "the Link header", data)


class HeaderCursorPaginator(BaseReferencePaginator):
    """A paginator that copies a cursor from a response header into a query parameter."""

    def __init__(self, cursor_key: str = "next", cursor_param: str = "cursor") -> None:
        super().__init__()
        self.cursor_key, self.cursor_param = cursor_key, cursor_param

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the header; without it this is the last page."""
        self._advance(response.headers.get(self.cursor_key), f"the header {self.cursor_key}", data)

    def update_request(self, request: Request) -> None:
        """Set the cursor."""
        request.params = {**(request.params or {}), self.cursor_param: self._next_reference}


class JSONResponseCursorPaginator(BaseReferencePaginator):
    """A paginator that copies a cursor from the JSON of a response into a query parameter or the body."""

    def __init__(
        self,
        cursor_path: str | CursorPath = "cursors.next",
        cursor_param: str | None = None,
        cursor_body_path: str | None = None,
        *,
        stop_after_empty_page: bool = False,
        has_more_path: str | CursorPath | None = None,
    ) -> None:
        super().__init__()
        if cursor_param is not None and cursor_body_path is not None:
            raise UsageError(
                "a cursor goes into the query or into the body, not both",
                hint="omit cursor_param or cursor_body_path",
            )
        self.cursor_path = json_path(cursor_path)
        self.cursor_param = "cursor" if cursor_param is None and cursor_body_path is None else cursor_param
        self.cursor_body_path, self.stop_after_empty_page = cursor_body_path, stop_after_empty_page
        self.has_more_path = json_path(has_more_path) if has_more_path else None

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the cursor; an empty one ends the pages."""
        document = response.json()
        self._advance(first_value(self.cursor_path, document), path_text(self.cursor_path), data)
        if self.stop_after_empty_page and not data:
            self._has_next_page = False
        elif self.has_more_path is not None:
            self._has_next_page = self._has_next_page and has_more_pages(self.has_more_path, document, self)

    def update_request(self, request: Request) -> None:
        """Set the cursor."""
        if self.cursor_body_path:
            request.json = request.json if request.json is not None else {}
            set_value(request.json, self.cursor_body_path, self._next_reference)
        else:
            request.params = {**(request.params or {}), str(self.cursor_param): self._next_reference}


class RangePaginator(BasePaginator):
    """The base of paginators that count upwards to a total, a maximum or an empty page."""

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
                hint="set a total_path, a maximum, a has_more_path or stop_after_empty_page=True",
            )
        if bool(param_name) == bool(param_body_path):
            raise UsageError(
                f"{type(self).__name__} puts its number into either the query or the body",
                hint="set either the parameter or the path in the body",
            )
        self.param_name, self.param_body_path = param_name, param_body_path
        self.initial_value = self.current_value = initial_value
        self.value_step, self.base_index, self.maximum_value = value_step, base_index, maximum_value
        self.total_path = json_path(total_path) if total_path else None
        self.has_more_path = json_path(has_more_path) if has_more_path else None
        self.error_message_items, self.stop_after_empty_page = error_message_items, stop_after_empty_page

    def init_request(self, request: Request) -> None:
        """Reset the paginator, which may have been used before."""
        self._has_next_page, self.current_value = True, self.initial_value
        self.update_request(request)

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Advance; an empty page, the total, the maximum or the response may end the pages."""
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
            has_more = has_more_pages(self.has_more_path, response.json(), self)
            self._has_next_page = self._has_next_page and has_more

    def within(self, first: int, end: int) -> Self:
        """Return a copy for the pages that begin in this range; the maximum and the total still apply."""
        paginator = copy.copy(self)
        paginator.initial_value = paginator.current_value = first
        paginator.maximum_value = end if self.maximum_value is None else min(end, self.maximum_value)
        paginator.has_more_path = None
        return paginator

    def end(self, document: Any) -> int:
        """Return the end of the last page: the total of the first response, limited by the maximum."""
        ends = [] if self.maximum_value is None else [self.maximum_value]
        if self.total_path is not None:
            ends.append(total_count(self.total_path, document, self) + self.base_index)
        return min(ends)

    def update_request(self, request: Request) -> None:
        """Set the start of the page."""
        self._set_parameter(request, self.current_value, self.param_name, self.param_body_path)

    @staticmethod
    def _set_parameter(request: Request, value: int, param: str | None, body_path: str | None) -> None:
        if body_path:
            request.json = request.json if request.json is not None else {}
            set_value(request.json, body_path, value)
        else:
            request.params = {**(request.params or {}), str(param): value}


class PageNumberPaginator(RangePaginator):
    """A paginator by page number; the total counts pages, and `maximum_page` itself is not requested.

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
    """A paginator by row offset: each page begins `limit` rows after the previous one.

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
                "a limit goes into either the query or the body",
                hint="set either limit_param or limit_body_path",
            )

    def update_request(self, request: Request) -> None:
        """Set the start and the length of the page."""
        super().update_request(request)
        self._set_parameter(request, self.limit, self.limit_param, self.limit_body_path)


def _param_name(param: str | None, body_path: str | None, default: str) -> str | None:
    return default if param is None and body_path is None else param


_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}


def has_more_pages(path: CursorPath, document: Any, paginator: object) -> bool:
    """Return the flag in a response that announces more pages: a boolean, or a word for one."""
    value = first_value(path, document)
    flag = _BOOLEAN_WORDS.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise ResponseNotUnderstood(
            paginator=str(paginator), path=path_text(path), wanted="true or false", found=_type_label(value)
        )
    return flag


def total_count(path: CursorPath, document: Any, paginator: object) -> int:
    """Return the total in a response: a number, or a text of digits."""
    value = first_value(path, document)
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ResponseNotUnderstood(
            paginator=str(paginator), path=path_text(path), wanted="a whole number", found=_type_label(value)
        ) from None


def fingerprint(*values: Any) -> bytes:
    """Return a hash of values, to recognise them without keeping them.

    >>> fingerprint("next", [{"id": 1}]) == fingerprint("next", [{"id": 1}])
    True
    >>> fingerprint("next", [{"id": 1}]) == fingerprint("next", [{"id": 2}])
    False
    """
    return hashlib.sha256(repr(values).encode()).digest()


def _type_label(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
