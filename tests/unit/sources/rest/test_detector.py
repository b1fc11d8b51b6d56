"""Detected page numbers: the first page, and wrong detections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.sources.rest.fake_hosts import Answer, FakeHosts, query_of, session_to

from penstock.errors import ResponseNotUnderstood
from penstock.sources.rest import JSONLinkPaginator, PageNumberPaginator, RESTClient

if TYPE_CHECKING:
    from collections.abc import Callable

    import requests

API = "https://api.test"
ROWS = [{"id": number} for number in range(6)]


def paged(base: int, tell: Callable[[int], dict[str, Any]]) -> FakeHosts:
    """Three pages of two rows, counted from `base`, which is also the page that comes unasked."""

    def answer(request: requests.PreparedRequest) -> Answer:
        page = int(query_of(request).get("page", base))
        first = (page - base) * 2
        return 200, {"data": ROWS[first : first + 2] if first >= 0 else [], **tell(page)}, {}

    return FakeHosts(answer)


def ids(hosts: FakeHosts, **how: Any) -> list[int]:
    client = RESTClient(API, session=session_to(hosts))
    return [row["id"] for page in client.paginate("rows", **how) for row in page]


PAGE_FIELDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "page": lambda page: {"page": page, "total_pages": 3},
    "current_page": lambda page: {"pages": 3, "current_page": page},
    "currentPage": lambda page: {"meta": {"totalPages": 3, "currentPage": page}},
    "page_number": lambda page: {"meta": {"page_number": str(page), "total_pages": "3"}},
    "PAGENUMBER": lambda page: {"meta": {"PAGENUMBER": page, "total_pages": 3}},
    "elsewhere": lambda page: {"paging": {"pageNumber": page}, "meta": {"total_pages": 3}},
    "a size elsewhere": lambda page: {"count": {"all": 60, "page": 20}, "page": page, "total_pages": 3},
    "too large around": lambda page: {"page": 50, "paging": {"pageNumber": page}, "meta": {"pages": 3}},
    "beside-first": lambda page: {"page": 7, "meta": {"total_pages": 3, "page": page}},
}


@pytest.mark.parametrize("kind", PAGE_FIELDS)
@pytest.mark.parametrize("base", [0, 1])
def test_the_first_page_number_is_read_from_the_response(kind: str, base: int) -> None:
    hosts = paged(base, PAGE_FIELDS[kind])

    assert ids(hosts) == [row["id"] for row in ROWS]
    assert [query_of(sent).get("page") for sent in hosts.seen] == [None, str(base + 1), str(base + 2)]


@pytest.mark.parametrize("odd", [True, None, "one", 1.5, -1, {"number": 1}])
def test_invalid_page_numbers_are_ignored(odd: Any) -> None:
    hosts = paged(0, lambda _: {"page": odd, "total_pages": 3})

    assert ids(hosts) == [row["id"] for row in ROWS]
    assert [query_of(sent).get("page") for sent in hosts.seen] == [None, "1", "2"]


def test_a_page_field_elsewhere_may_be_a_size() -> None:
    hosts = paged(0, lambda _: {"count": {"all": 60, "page": 20}, "total_pages": 3})

    assert ids(hosts) == [row["id"] for row in ROWS]


@pytest.mark.parametrize("kind", ["page", "elsewhere"])
def test_a_requested_page_is_not_the_base_page(kind: str) -> None:
    hosts = paged(1, PAGE_FIELDS[kind])

    assert ids(hosts, params={"page": 2}) == [2, 3, 4, 5]
    assert len(hosts.seen) == 2


def test_a_wrong_detection_duplicates_no_row() -> None:
    hosts = paged(1, lambda _: {"total_pages": 3})

    with pytest.raises(
        ResponseNotUnderstood, match=r"another page at page=1 .* the first page again; configure a page_n"
    ):
        ids(hosts)
    assert len(hosts.seen) == 2
    assert ids(hosts, paginator=PageNumberPaginator(1, total_path="total_pages")) == [0, 1, 2, 3, 4, 5]


def test_pages_of_a_configured_paginator_may_be_equal() -> None:
    hosts = FakeHosts(lambda _: (200, {"data": [{"v": 0}], "total_pages": 3}, {}))
    client = RESTClient(API, session=session_to(hosts))

    assert len(list(client.paginate("x", paginator=PageNumberPaginator(total_path="total_pages")))) == 3


def test_a_loop_of_links_is_rejected() -> None:
    def answer(request: requests.PreparedRequest) -> Answer:
        current, following = ("b", "a") if "b" in str(request.url)[-1] else ("a", "b")
        return 200, {"data": [{"id": current}], "next": f"{API}/{following}"}, {}

    hosts = FakeHosts(answer)
    client = RESTClient(API, session=session_to(hosts), paginator=JSONLinkPaginator())

    for _ in range(2):  # what was seen belongs to one round
        hosts.seen.clear()
        with pytest.raises(
            ResponseNotUnderstood, match=r"another page at next of .* the same page repeatedly"
        ):
            for _ in zip(range(9), client.paginate("a"), strict=False):
                pass
        assert len(hosts.seen) == 3


def test_a_repeated_url_with_other_rows_is_accepted() -> None:
    remaining = [1, 2, 3, 4, 5]

    def answer(request: requests.PreparedRequest) -> Answer:
        following = "b" if str(request.url).endswith("a") else "a"
        number = remaining.pop(0)
        return 200, {"data": [{"id": number}], "next": f"{API}/{following}" if remaining else None}, {}

    client = RESTClient(API, session=session_to(FakeHosts(answer)), paginator=JSONLinkPaginator())

    assert [row["id"] for page in client.paginate("a") for row in page] == [1, 2, 3, 4, 5]
