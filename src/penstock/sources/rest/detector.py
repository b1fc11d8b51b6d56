"""Guesses where the rows of a response are, and how its pages go on.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from penstock.errors import ResponseNotUnderstood
from penstock.interfaces.cursorpath import CursorPath
from penstock.sources.rest.paginators import (
    BasePaginator,
    HeaderLinkPaginator,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    SinglePagePaginator,
)
from penstock.sources.rest.range_paginators import PageNumberPaginator
from penstock.sources.rest.response_fields import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
"""What page numbers are asked by where nobody says it."""
_MAX_DEPTH: Final = 3
_SECOND_PAGE: Final = 2

KeyPath = tuple[str, ...]


class DetectedPageNumberPaginator(PageNumberPaginator):
    """Page numbers that were found out, so the number of the first page may be a guess.

    >>> DetectedPageNumberPaginator(path_from_keys(("pages",)), 1).current_value
    1
    """

    def __init__(self, total_path: CursorPath, page: int) -> None:
        # A number past 1 is that of a page that was asked for.
        super().__init__(base_page=min(page, 1), page=page, page_param=_PAGE_PARAM, total_path=total_path)
        self._page_count, self._first_page_fingerprint = 0, b""

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Count on; a second page that is the first again is refused, as the last one would be left out."""
        self._page_count += 1
        if self._page_count == 1:
            self._first_page_fingerprint = fingerprint(data)
        elif self._page_count == _SECOND_PAGE and data and fingerprint(data) == self._first_page_fingerprint:
            raise ResponseNotUnderstood(
                paginator=str(self),
                path=f"{self.param_name}={self.current_value}",
                wanted="another page",
                found="the same again; say a page_number paginator with the base_page of the API",
            )
        super().update_state(response, data)

    def __str__(self) -> str:
        return PageNumberPaginator.__name__


def rows_path(document: Any) -> CursorPath:
    """Where the rows are: the first list with a usual name, else the first list, else the whole.

    >>> rows_path({"meta": {"tags": []}, "items": [1]}).segments
    ('items',)
    >>> rows_path({"id": 1}).segments
    ()
    """
    found = list(_list_paths(document, ()))
    usual = (way for way in found if way[-1] in _ROW_LIST_NAMES)
    return path_from_keys(next(usual, found[0] if found else ()))


def path_from_keys(keys: KeyPath) -> CursorPath:
    """A path of names as they stand in the data, whatever characters they have."""
    return CursorPath(segments=keys, column=None)


def detect_paginator(response: Response) -> BasePaginator:
    """How the pages of a response seem to go on; it ends with this page where nothing tells."""
    if response.links.get("next"):
        return HeaderLinkPaginator()
    document = response.json()
    following = _find_value(document, _match_next)
    if following is not None:
        way, value = following
        if isinstance(value, str) and value.startswith(("http", "/")):
            return JSONLinkPaginator(path_from_keys(way))
    pages = _find_value(document, _match_total_pages)
    if pages is not None and _is_convertible_to_int(pages[1]):
        asked = _requested_page(response)
        page = _current_page(document, pages[0]) if asked is None else asked
        return DetectedPageNumberPaginator(path_from_keys(pages[0]), page)
    if following is not None:
        return JSONResponseCursorPaginator(path_from_keys(following[0]))
    return SinglePagePaginator()


def _list_paths(document: Any, keys: KeyPath) -> Iterator[KeyPath]:
    if not isinstance(document, dict) or len(keys) >= _MAX_DEPTH:
        return
    for name, value in document.items():
        if isinstance(value, list):
            yield (*keys, name)
        else:
            yield from _list_paths(value, (*keys, name))


def _find_value(document: Any, matcher: Any, keys: KeyPath = ()) -> tuple[KeyPath, Any] | None:
    """The first place, from the outside in and in the order of the keys, that fits."""
    if not isinstance(document, dict):
        return None
    for name, value in document.items():
        found: tuple[KeyPath, Any] | None = matcher(name, value)
        if found is not None:
            return (*keys, *found[0]), found[1]
        inner = _find_value(value, matcher, (*keys, name))
        if inner is not None:
            return inner
    return None


def _match_next(name: str, value: Any) -> tuple[KeyPath, Any] | None:
    if not _NEXT_PATTERN.match(name):
        return None
    if isinstance(value, dict):
        inside: Mapping[str, Any] = value
        found = ((name, key) for key, one in inside.items() if _URL_PATTERN.match(key) and _is_scalar(one))
        way = next(found, None)
        return None if way is None else (way, value[way[1]])
    return ((name,), value) if _is_scalar(value) else None


def _match_total_pages(name: str, value: Any) -> tuple[KeyPath, Any] | None:
    return ((name,), value) if _TOTAL_PAGES_PATTERN.match(name) and _is_scalar(value) else None


def _requested_page(response: Response) -> int | None:
    """The number of the page that was asked for; a response may count from another number on."""
    said = dict(parse_qsl(urlsplit(str(response.request.url)).query)).get(_PAGE_PARAM)
    return int(said) if said is not None and _is_whole_number(said) else None


def _current_page(document: Any, total_keys: KeyPath) -> int:
    """The number of this page, said beside the total or around it; 0 where nothing tells, as in dlt.

    What has a greater number than there are pages is none. What is called a page elsewhere may be anything,
    such as a size, unless it is 0 or 1.
    """
    around = [document]
    for name in total_keys[:-1]:
        around.append(around[-1][name])
    last = int(around[-1][total_keys[-1]])
    numbers = (
        int(value)
        for inside in reversed(around)
        for name, value in inside.items()
        if _PAGE_NUMBER_PATTERN.match(name) and _is_whole_number(value)
    )
    found = next((number for number in numbers if number <= last), None)
    return found if found is not None else (_find_value(document, _match_first_page) or ((), 0))[1]


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
