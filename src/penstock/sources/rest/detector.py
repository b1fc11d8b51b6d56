"""Detection of the rows and the paginator from a response.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from penstock.errors import ResponseNotUnderstood
from penstock.interfaces.cursorpath import CursorPath
from penstock.sources.rest.paginators import (
    BasePaginator,
    HeaderLinkPaginator,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    PageNumberPaginator,
    SinglePagePaginator,
    fingerprint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from requests import Response

_ROW_LIST_NAMES: Final = frozenset(
    (
        *("data", "items", "results", "entries", "records", "rows", "entities", "payload", "content"),
        *("objects", "values"),
    )
)
_NEXT_PATTERN: Final = re.compile("next", re.IGNORECASE)
_URL_PATTERN: Final = re.compile("href|url", re.IGNORECASE)
_TOTAL_PAGES_PATTERN: Final = re.compile("^(total_pages|pages|totalpages)$", re.IGNORECASE)
_PAGE_NUMBER_PATTERN: Final = re.compile("^(page|current_?page|page_?number)$", re.IGNORECASE)
_PAGE_PARAM: Final = "page"
"""The default query parameter for page numbers."""
_MAX_DEPTH: Final = 3
_SECOND_PAGE: Final = 2

KeyPath = tuple[str, ...]
DetectionResult = tuple[BasePaginator, float] | tuple[None, None]
Detector = Callable[["Response"], DetectionResult]
NOT_DETECTED: Final = (None, None)


class DetectedPageNumberPaginator(PageNumberPaginator):
    """A detected page number paginator; the number of its first page may be a guess.

    >>> DetectedPageNumberPaginator(path_from_keys(("pages",)), 1).current_value
    1
    """

    def __init__(self, total_path: CursorPath, page: int) -> None:
        # A number above 1 is the page that was requested, not the first one.
        super().__init__(base_page=min(page, 1), page=page, page_param=_PAGE_PARAM, total_path=total_path)
        self._page_count, self._first_page_fingerprint = 0, b""

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Advance; raise if the second page equals the first, because the last page would be skipped."""
        self._page_count += 1
        if self._page_count == 1:
            self._first_page_fingerprint = fingerprint(data)
        elif self._page_count == _SECOND_PAGE and data and fingerprint(data) == self._first_page_fingerprint:
            raise ResponseNotUnderstood(
                paginator=str(self),
                path=f"{self.param_name}={self.current_value}",
                wanted="another page",
                found="the first page again; configure a page_number paginator with the base_page of the API",
            )
        super().update_state(response, data)

    def __str__(self) -> str:
        return PageNumberPaginator.__name__


def rows_path(document: Any) -> CursorPath:
    """Return the path of the rows: the first list with a usual name, else the first list, else the document.

    >>> rows_path({"meta": {"tags": []}, "items": [1]}).segments
    ('items',)
    >>> rows_path({"id": 1}).segments
    ()
    """
    paths = list(_list_paths(document, ()))
    usual = (path for path in paths if path[-1] in _ROW_LIST_NAMES)
    return path_from_keys(next(usual, paths[0] if paths else ()))


def path_from_keys(keys: KeyPath) -> CursorPath:
    """Return the path of these keys, which may contain any characters."""
    return CursorPath(segments=keys, column=None)


def header_links_detector(response: Response) -> DetectionResult:
    """Return a paginator if the `Link` header has a next page."""
    return (HeaderLinkPaginator(), 1.0) if response.links.get("next") else NOT_DETECTED


def json_links_detector(response: Response) -> DetectionResult:
    """Return a paginator if the document has the URL of the next page."""
    path, value = _find_value(response.json(), _match_next) or ((), None)
    is_url = isinstance(value, str) and value.startswith(("http", "/"))
    return (JSONLinkPaginator(path_from_keys(path)), 1.0) if is_url else NOT_DETECTED


def pages_number_paginator_detector(response: Response) -> DetectionResult:
    """Return a paginator if the document has the number of pages."""
    document = response.json()
    path, value = _find_value(document, _match_total_pages) or ((), None)
    if not _is_convertible_to_int(value):
        return NOT_DETECTED
    requested = _requested_page(response)
    page = _current_page(document, path) if requested is None else requested
    return DetectedPageNumberPaginator(path_from_keys(path), page), 0.5


def cursor_paginator_detector(response: Response) -> DetectionResult:
    """Return a paginator if the document has a value for the next page that is not a URL."""
    reference = _find_value(response.json(), _match_next)
    return (
        NOT_DETECTED
        if reference is None
        else (JSONResponseCursorPaginator(path_from_keys(reference[0])), 0.5)
    )


def single_page_detector(response: Response) -> DetectionResult:
    """Return the paginator for responses that show no other."""
    return SinglePagePaginator(), 0.0


class PaginatorFactory:
    """Detects the paginator that fits a response: that of the detector with the highest score.

    A detector is a function of the response that returns a paginator and a score up to 1, or two None. Of
    equal scores the first counts.

    >>> PaginatorFactory([single_page_detector]).create_paginator(None)[1]
    0.0
    """

    def __init__(self, detectors: Sequence[Detector] | None = None) -> None:
        self.detectors: Sequence[Detector] = detectors or (
            header_links_detector,
            json_links_detector,
            pages_number_paginator_detector,
            cursor_paginator_detector,
            single_page_detector,
        )

    def create_paginator(self, response: Response) -> tuple[BasePaginator | None, float]:
        """Return the paginator for a response with its score; None and 0 if no detector returns one."""
        best: tuple[BasePaginator | None, float] = (None, 0.0)
        for detect in self.detectors:
            paginator, score = detect(response)
            if paginator is not None and score is not None and (best[0] is None or score > best[1]):
                best = paginator, score
                if score == 1:
                    break
        return best


def _list_paths(document: Any, keys: KeyPath) -> Iterator[KeyPath]:
    if not isinstance(document, dict) or len(keys) >= _MAX_DEPTH:
        return
    for name, value in document.items():
        if isinstance(value, list):
            yield (*keys, name)
        else:
            yield from _list_paths(value, (*keys, name))


def _find_value(document: Any, matcher: Any, keys: KeyPath = ()) -> tuple[KeyPath, Any] | None:
    """Return the first match, in the order of the keys, with its path."""
    if not isinstance(document, dict):
        return None
    for name, value in document.items():
        match: tuple[KeyPath, Any] | None = matcher(name, value)
        if match is not None:
            return (*keys, *match[0]), match[1]
        inner = _find_value(value, matcher, (*keys, name))
        if inner is not None:
            return inner
    return None


def _match_next(name: str, value: Any) -> tuple[KeyPath, Any] | None:
    if not _NEXT_PATTERN.match(name):
        return None
    if isinstance(value, dict):
        links: Mapping[str, Any] = value
        paths = ((name, key) for key, link in links.items() if _URL_PATTERN.match(key) and _is_scalar(link))
        path = next(paths, None)
        return None if path is None else (path, value[path[1]])
    return ((name,), value) if _is_scalar(value) else None


def _match_total_pages(name: str, value: Any) -> tuple[KeyPath, Any] | None:
    return ((name,), value) if _TOTAL_PAGES_PATTERN.match(name) and _is_scalar(value) else None


def _requested_page(response: Response) -> int | None:
    """Return the number of the requested page; a response may count from another number."""
    page = dict(parse_qsl(urlsplit(str(response.request.url)).query)).get(_PAGE_PARAM)
    return int(page) if page is not None and _is_whole_number(page) else None


def _current_page(document: Any, total_keys: KeyPath) -> int:
    """Return the number of this page, read beside the total or in a parent object; by default 0, as in dlt.

    A number above the total is not a page number. A field named like a page elsewhere may be a size, so it
    only counts if it is 0 or 1.
    """
    parents = [document]
    for name in total_keys[:-1]:
        parents.append(parents[-1][name])
    total = int(parents[-1][total_keys[-1]])
    numbers = (
        int(value)
        for parent in reversed(parents)
        for name, value in parent.items()
        if _PAGE_NUMBER_PATTERN.match(name) and _is_whole_number(value)
    )
    page = next((number for number in numbers if number <= total), None)
    return page if page is not None else (_find_value(document, _match_first_page) or ((), 0))[1]


def _match_first_page(name: str, value: Any) -> tuple[KeyPath, int] | None:
    is_first = _PAGE_NUMBER_PATTERN.match(name) and _is_whole_number(value) and int(value) <= 1
    return ((name,), int(value)) if is_first else None


def _is_whole_number(value: Any) -> bool:
    return not isinstance(value, bool) and str(value).isascii() and str(value).isdigit()


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _is_convertible_to_int(value: Any) -> bool:
    try:
        int(value)
    except (TypeError, ValueError):
        return False
    return True
