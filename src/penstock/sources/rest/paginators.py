"""Paginators: how the next page is asked for, and when there is none.

Also runs where penstock is not installed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from penstock.errors import ResponseNotUnderstood, UsageError
from penstock.sources.rest.json_paths import first_value, json_path, path_text, set_value
from penstock.sources.rest.response_fields import fingerprint, has_more_pages
from penstock.sources.rest.urls import keep_https

if TYPE_CHECKING:
    from requests import Request, Response

    from penstock.interfaces.cursorpath import CursorPath


class BasePaginator(ABC):
    """The base of your own: `update_state` reads a response, `update_request` prepares the next request.

    Set `_has_next_page` to False in `update_state` when a page was the last.
    """

    def __init__(self) -> None:
        self._has_next_page = True

    @property
    def has_next_page(self) -> bool:
        """Whether there is another page to ask for."""
        return self._has_next_page

    def init_request(self, request: Request) -> None:  # noqa: B027 - most have nothing to do here
        """Prepare the first request."""

    @abstractmethod
    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Learn from a response, and from the rows that were selected in it."""

    @abstractmethod
    def update_request(self, request: Request) -> None:
        """Change the request into that of the next page."""

    def __str__(self) -> str:
        return type(self).__name__


class SinglePagePaginator(BasePaginator):
    """One page is all there is.

    >>> SinglePagePaginator().has_next_page
    True
    """

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """There is no other page."""
        self._has_next_page = False

    def update_request(self, request: Request) -> None:
        """Nothing to prepare."""


class BaseReferencePaginator(BasePaginator):
    """The base of those that take a text from a response into the next request."""

    def __init__(self) -> None:
        super().__init__()
        self._reference: str | None = None
        self._last_fingerprint: bytes | None = None
        self._seen_fingerprints: set[bytes] = set()

    def init_request(self, request: Request) -> None:
        """Begin anew, however often it was used before."""
        self._has_next_page, self._reference, self._last_fingerprint, self._seen_fingerprints = (
            True,
            None,
            None,
            set(),
        )

    @property
    def _next_reference(self) -> str | None:
        return self._reference

    @_next_reference.setter
    def _next_reference(self, reference: str | None) -> None:
        self._reference, self._has_next_page = reference, reference is not None

    def _advance(self, reference: str | None, path: str, rows: list[Any] | None) -> None:
        """Go on with a reference; an empty one is none.

        The same one twice is fine where the server knows how far it is, and gives other rows each time.
        """
        reference = reference or None
        if reference is not None and rows is not None and self._is_repeated(reference, rows):
            raise ResponseNotUnderstood(
                paginator=str(self), path=path, wanted="another page", found="the same again and again"
            )
        self._next_reference = reference

    def _is_repeated(self, reference: str, rows: list[Any]) -> bool:
        """Whether it goes in a circle: of one page, or of several that follow each other."""
        mark = fingerprint(reference, rows)
        if reference == self._reference:
            before, self._last_fingerprint = self._last_fingerprint, mark
            return before == mark
        was_there, self._last_fingerprint = mark in self._seen_fingerprints, None
        self._seen_fingerprints.add(mark)
        return was_there


class BaseNextUrlPaginator(BaseReferencePaginator):
    """The base of those that are told the address of the next page."""

    def update_request(self, request: Request) -> None:
        """Go to the next address; it has its own query."""
        if self._next_reference is None:
            return
        is_whole = bool(urlsplit(self._next_reference).scheme)
        url = self._next_reference if is_whole else urljoin(str(request.url), self._next_reference)
        request.url, request.params = keep_https(str(request.url), url), {}


class JSONLinkPaginator(BaseNextUrlPaginator):
    """The address of the next page stands in the JSON of a response.

    >>> str(JSONLinkPaginator("links.next"))
    'JSONLinkPaginator'
    """

    def __init__(self, next_url_path: str | CursorPath = "next") -> None:
        super().__init__()
        self.next_url_path = json_path(next_url_path)

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the address; without one there is no next page."""
        self._advance(first_value(self.next_url_path, response.json()), path_text(self.next_url_path), data)


class HeaderLinkPaginator(BaseNextUrlPaginator):
    """The address of the next page stands in the `Link` header, as on GitHub."""

    def __init__(self, links_next_key: str = "next") -> None:
        super().__init__()
        self.links_next_key = links_next_key

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the header; without it there is no next page."""
        self._advance(response.links.get(self.links_next_key, {}).get("url"), "the Link header", data)


class HeaderCursorPaginator(BaseReferencePaginator):
    """A header of a response has a cursor, which becomes a query parameter."""

    def __init__(self, cursor_key: str = "next", cursor_param: str = "cursor") -> None:
        super().__init__()
        self.cursor_key, self.cursor_param = cursor_key, cursor_param

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the header; without it there is no next page."""
        self._advance(response.headers.get(self.cursor_key), f"the header {self.cursor_key}", data)

    def update_request(self, request: Request) -> None:
        """Say the cursor."""
        request.params = {**(request.params or {}), self.cursor_param: self._next_reference}


class JSONResponseCursorPaginator(BaseReferencePaginator):
    """The JSON of a response has a cursor, which becomes a query parameter, or a field of the body."""

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
                hint="leave cursor_param or cursor_body_path out",
            )
        self.cursor_path = json_path(cursor_path)
        self.cursor_param = "cursor" if cursor_param is None and cursor_body_path is None else cursor_param
        self.cursor_body_path, self.stop_after_empty_page = cursor_body_path, stop_after_empty_page
        self.has_more_path = json_path(has_more_path) if has_more_path else None

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Read the cursor; an empty one means the end."""
        document = response.json()
        self._advance(first_value(self.cursor_path, document), path_text(self.cursor_path), data)
        if self.stop_after_empty_page and not data:
            self._has_next_page = False
        elif self.has_more_path is not None:
            self._has_next_page = self._has_next_page and has_more_pages(self.has_more_path, document, self)

    def update_request(self, request: Request) -> None:
        """Say the cursor."""
        if self.cursor_body_path:
            request.json = request.json if request.json is not None else {}
            set_value(request.json, self.cursor_body_path, self._next_reference)
        else:
            request.params = {**(request.params or {}), str(self.cursor_param): self._next_reference}
