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
from penstock.sources.rest.ranges import PageNumberPaginator
from penstock.sources.rest.telling import mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from requests import Response

_ROWS: Final = frozenset(
    (
        *("data", "items", "results", "entries", "records", "rows", "entities", "payload", "content"),
        *("objects", "values"),
    )
)
_NEXT: Final = re.compile("next", re.IGNORECASE)
_ADDRESS: Final = re.compile("href|url", re.IGNORECASE)
_PAGES: Final = re.compile("^(total_pages|pages|totalpages)$", re.IGNORECASE)
_PAGE: Final = re.compile("^(page|current_?page|page_?number)$", re.IGNORECASE)
_PARAM: Final = "page"
"""What page numbers are asked by where nobody says it."""
_DEEPEST: Final = 3
_SECOND: Final = 2

Way = tuple[str, ...]


class FoundPages(PageNumberPaginator):
    """Page numbers that were found out, so the number of the first page may be a guess.

    >>> FoundPages(way_path(("pages",)), 1).current_value
    1
    """

    def __init__(self, total_path: CursorPath, page: int) -> None:
        # A number past 1 is that of a page that was asked for.
        super().__init__(base_page=min(page, 1), page=page, page_param=_PARAM, total_path=total_path)
        self._pages, self._first = 0, b""

    def update_state(self, response: Response, data: list[Any] | None = None) -> None:
        """Count on; a second page that is the first again is refused, as the last one would be left out."""
        self._pages += 1
        if self._pages == 1:
            self._first = mark_of(data)
        elif self._pages == _SECOND and data and mark_of(data) == self._first:
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

    >>> rows_path({"meta": {"tags": []}, "items": [1]}).steps
    ('items',)
    >>> rows_path({"id": 1}).steps
    ()
    """
    found = list(_lists(document, ()))
    usual = (way for way in found if way[-1] in _ROWS)
    return way_path(next(usual, found[0] if found else ()))


def way_path(way: Way) -> CursorPath:
    """A path of names as they stand in the data, whatever characters they have."""
    return CursorPath(steps=way, column=None)


def detect_paginator(response: Response) -> BasePaginator:
    """How the pages of a response seem to go on; it ends with this page where nothing tells."""
    if response.links.get("next"):
        return HeaderLinkPaginator()
    document = response.json()
    following = _way_to(document, _next_at)
    if following is not None:
        way, value = following
        if isinstance(value, str) and value.startswith(("http", "/")):
            return JSONLinkPaginator(way_path(way))
    pages = _way_to(document, _pages_at)
    if pages is not None and _is_number(pages[1]):
        asked = _asked_page(response)
        page = _page_of(document, pages[0]) if asked is None else asked
        return FoundPages(way_path(pages[0]), page)
    if following is not None:
        return JSONResponseCursorPaginator(way_path(following[0]))
    return SinglePagePaginator()


def _lists(document: Any, way: Way) -> Iterator[Way]:
    if not isinstance(document, dict) or len(way) >= _DEEPEST:
        return
    for name, value in document.items():
        if isinstance(value, list):
            yield (*way, name)
        else:
            yield from _lists(value, (*way, name))


def _way_to(document: Any, looked_at: Any, way: Way = ()) -> tuple[Way, Any] | None:
    """The first place, from the outside in and in the order of the keys, that fits."""
    if not isinstance(document, dict):
        return None
    for name, value in document.items():
        found: tuple[Way, Any] | None = looked_at(name, value)
        if found is not None:
            return (*way, *found[0]), found[1]
        inner = _way_to(value, looked_at, (*way, name))
        if inner is not None:
            return inner
    return None


def _next_at(name: str, value: Any) -> tuple[Way, Any] | None:
    if not _NEXT.match(name):
        return None
    if isinstance(value, dict):
        inside: Mapping[str, Any] = value
        found = ((name, key) for key, one in inside.items() if _ADDRESS.match(key) and _is_plain(one))
        way = next(found, None)
        return None if way is None else (way, value[way[1]])
    return ((name,), value) if _is_plain(value) else None


def _pages_at(name: str, value: Any) -> tuple[Way, Any] | None:
    return ((name,), value) if _PAGES.match(name) and _is_plain(value) else None


def _asked_page(response: Response) -> int | None:
    """The number of the page that was asked for; a response may count from another number on."""
    said = dict(parse_qsl(urlsplit(str(response.request.url)).query)).get(_PARAM)
    return int(said) if said is not None and _is_whole(said) else None


def _page_of(document: Any, total: Way) -> int:
    """The number of this page, said beside the total or around it; 0 where nothing tells, as in dlt.

    What has a greater number than there are pages is none. What is called a page elsewhere may be anything,
    such as a size, unless it is 0 or 1.
    """
    around = [document]
    for name in total[:-1]:
        around.append(around[-1][name])
    last = int(around[-1][total[-1]])
    numbers = (
        int(value)
        for inside in reversed(around)
        for name, value in inside.items()
        if _PAGE.match(name) and _is_whole(value)
    )
    found = next((number for number in numbers if number <= last), None)
    return found if found is not None else (_way_to(document, _first_page_at) or ((), 0))[1]


def _first_page_at(name: str, value: Any) -> tuple[Way, int] | None:
    is_first = _PAGE.match(name) and _is_whole(value) and int(value) <= 1
    return ((name,), int(value)) if is_first else None


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and str(value).isascii() and str(value).isdigit()


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _is_number(value: Any) -> bool:
    try:
        int(value)
    except (TypeError, ValueError):
        return False
    return True
