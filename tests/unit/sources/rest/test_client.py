"""The client against a local server: pagination, authentication, retries and messages."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
import requests
from tests.restapi import KEY, PASSWORD, ROWS, TOKEN, USER

from penstock.errors import ResponseNotUnderstood, UsageError
from penstock.sources.rest import (
    APIKeyAuth,
    BasePaginator,
    BearerTokenAuth,
    HeaderCursorPaginator,
    HeaderLinkPaginator,
    HttpBasicAuth,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    OAuth2ClientCredentials,
    OffsetPaginator,
    PageNumberPaginator,
    RESTClient,
    RetrySession,
    SinglePagePaginator,
    paginate,
)

if TYPE_CHECKING:
    from requests.auth import AuthBase
    from tests.restapi import Api

ALL = [row["id"] for row in ROWS]


def quick(**options: Any) -> RetrySession:
    return RetrySession(**{"backoff": 0.001, **options})


def ids(client: RESTClient, path: str, **options: Any) -> list[int]:
    return [row["id"] for page in client.paginate(path, **options) for row in page]


PAGES: dict[str, tuple[str, str, BasePaginator, int]] = {
    "json-link": ("link", "GET", JSONLinkPaginator("links.next"), 3),
    "relative-link": ("relative", "GET", JSONLinkPaginator(), 3),
    "header-link": ("header", "GET", HeaderLinkPaginator(), 3),
    "header-cursor": ("headcursor", "GET", HeaderCursorPaginator(), 3),
    "cursor": ("cursor", "GET", JSONResponseCursorPaginator(), 3),
    "cursor-in-body": (
        *("bodycursor", "POST"),
        JSONResponseCursorPaginator("next_cursor", cursor_body_path="page.after", has_more_path="more"),
        3,
    ),
    "offset": ("offset", "GET", OffsetPaginator(limit=7), 4),
    "offset-without-total": ("offset", "GET", OffsetPaginator(limit=7, total_path=None), 5),
    "offset-that-says-more": (
        *("offset", "GET"),
        OffsetPaginator(limit=7, total_path=None, has_more_path="has_more"),
        4,
    ),
    "offset-in-body": (
        *("bodyoffset", "POST"),
        OffsetPaginator(limit=7, offset_body_path="from", limit_body_path="size", total_path="meta.total"),
        4,
    ),
    "pages": ("pages", "GET", PageNumberPaginator(total_path="total_pages"), 3),
    "pages-from-1": ("pages/1", "GET", PageNumberPaginator(base_page=1, total_path="total_pages"), 3),
    "pages-that-say-more": (
        "pages",
        "GET",
        PageNumberPaginator(total_path=None, has_more_path="has_more"),
        3,
    ),
    "pages-until-empty": ("pages", "GET", PageNumberPaginator(total_path=None), 4),
    "pages-in-body": ("bodypages", "POST", PageNumberPaginator(page_body_path="page"), 3),
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_paginator_returns_all_rows_and_ends(api: Api, kind: str) -> None:
    path, method, paginator, requests_made = PAGES[kind]
    client = RESTClient(api.url, paginator=paginator)

    assert ids(client, path, method=method) == ALL
    assert len(api.seen) == requests_made
    assert ids(client, path, method=method) == ALL  # the client's paginator begins anew


@pytest.mark.parametrize("path", ["link", "relative", "header", "pages", "cursor"])
def test_the_paginator_is_detected(api: Api, path: str) -> None:
    assert ids(RESTClient(api.url), path) == ALL


def test_a_response_without_pagination_is_one_page(api: Api) -> None:
    (page,) = RESTClient(api.url).paginate("single")

    assert [row["id"] for row in page] == [0, 1, 2]
    assert isinstance(page.paginator, SinglePagePaginator)
    assert page.response.status_code == 200
    assert page.request.method == "GET"


NOWHERE: dict[str, BasePaginator] = {
    "json-link": JSONLinkPaginator(),
    "header-cursor": HeaderCursorPaginator(),
    "cursor": JSONResponseCursorPaginator("next"),
}


@pytest.mark.parametrize("kind", NOWHERE)
def test_an_empty_reference_ends_the_pages(api: Api, kind: str) -> None:
    (page,) = RESTClient(api.url).paginate("endless", paginator=NOWHERE[kind])

    assert len(page) == 10


AGAIN: dict[str, tuple[BasePaginator, str]] = {
    "json-link": (JSONLinkPaginator("link"), "link"),
    "header-cursor": (HeaderCursorPaginator("again"), "the header again"),
    "cursor": (JSONResponseCursorPaginator("cursor"), "cursor"),
}


@pytest.mark.parametrize("kind", AGAIN)
def test_a_page_that_links_to_itself_is_rejected(api: Api, kind: str) -> None:
    paginator, where = AGAIN[kind]

    with pytest.raises(ResponseNotUnderstood, match=f"another page at {where} of .* same page repeatedly"):
        for _ in zip(range(9), RESTClient(api.url).paginate("endless", paginator=paginator), strict=False):
            pass

    assert len(api.seen) == 3


def test_one_cursor_may_return_many_pages(api: Api) -> None:
    client = RESTClient(api.url, paginator=JSONResponseCursorPaginator("cursor"))

    assert ids(client, "endless/scroll") == ALL


def test_an_abandoned_paginator_starts_from_scratch(api: Api) -> None:
    paginator = JSONLinkPaginator("links.next")
    for _ in range(4):
        page = next(RESTClient(api.url).paginate("link", paginator=paginator))
        assert page[0]["id"] == 0


@pytest.mark.parametrize(("maximum", "pages"), [(1, 1), (2, 2), (None, 3)], ids=["one", "two", "all"])
def test_a_maximum_ends_the_pages(api: Api, maximum: int | None, pages: int) -> None:
    paginator = PageNumberPaginator(total_path="total_pages", maximum_page=maximum)

    assert len(list(RESTClient(api.url).paginate("pages", paginator=paginator))) == pages


@pytest.mark.parametrize(
    ("selector", "count"),
    [("payload.batches[0].rows", 2), ("payload.batches[*].rows[*]", 4), ("$", 1), ("nowhere", 0)],
)
def test_rows_are_selected_by_a_path(api: Api, selector: str, count: int) -> None:
    (page,) = RESTClient(api.url, data_selector=selector).paginate("nested")

    assert len(page) == count


def test_a_response_that_a_paginator_cannot_read_is_rejected(api: Api) -> None:
    with pytest.raises(ResponseNotUnderstood, match=r"a whole number at meta.count .* got nothing"):
        ids(RESTClient(api.url), "pages", paginator=PageNumberPaginator(total_path="meta.count"))
    with pytest.raises(ResponseNotUnderstood, match=r"true or false at total_pages .* got a int"):
        ids(
            RESTClient(api.url),
            "pages",
            paginator=PageNumberPaginator(has_more_path="total_pages", total_path=None),
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: PageNumberPaginator(total_path=None, stop_after_empty_page=False),
        lambda: PageNumberPaginator(page_param="p", page_body_path="p"),
        lambda: OffsetPaginator(limit=1, limit_param="l", limit_body_path="l"),
        lambda: JSONResponseCursorPaginator(cursor_param="c", cursor_body_path="c"),
        lambda: JSONLinkPaginator("a..").next_url_path,
        lambda: RetrySession(attempts=0),
    ],
)
def test_invalid_paginators_are_rejected_when_declared(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def oauth(api: Api, seconds: int = 60) -> OAuth2ClientCredentials:
    return OAuth2ClientCredentials(
        access_token_url=f"{api.url}/token/{seconds}", client_id=USER, client_secret=PASSWORD
    )


LOG_INS: dict[str, Any] = {
    "bearer": lambda _: BearerTokenAuth(TOKEN),
    "header": lambda _: APIKeyAuth(name="X-Key", api_key=KEY),
    "query": lambda _: APIKeyAuth(name="k", api_key=KEY, location="query"),
    "cookie": lambda _: APIKeyAuth(name="k", api_key=KEY, location="cookie"),
    "basic": lambda _: HttpBasicAuth(USER, PASSWORD),
    "oauth": oauth,
}


@pytest.mark.parametrize("kind", LOG_INS)
def test_every_authentication_works_also_unpickled_and_shows_no_secret(api: Api, kind: str) -> None:
    auth: AuthBase = LOG_INS[kind](api)
    client = RESTClient(api.url, auth=auth)

    assert ids(client, f"secure/{kind}") == [0, 1, 2]
    assert ids(pickle.loads(pickle.dumps(client)), f"secure/{kind}") == [0, 1, 2]
    assert not {TOKEN, KEY, PASSWORD} & set(repr(auth).replace("'", " ").split())
    assert not any(secret in repr(auth) + str(auth) for secret in (TOKEN, KEY, PASSWORD))


def test_a_token_is_used_until_it_expires(api: Api) -> None:
    client = RESTClient(api.url, auth=oauth(api))
    for _ in range(3):
        assert ids(client, "secure/oauth") == [0, 1, 2]
    assert api.tokens == 1

    short = RESTClient(api.url, auth=oauth(api, seconds=-1))
    for _ in range(2):
        assert ids(short, "secure/oauth") == [0, 1, 2]
    assert api.tokens == 3


@pytest.mark.parametrize("status", [429, 500, 503])
def test_requests_to_a_busy_server_are_retried(api: Api, status: int) -> None:
    paced: list[int] = []
    client = RESTClient(api.url, session=quick())
    client.paced_by(lambda: paced.append(1))

    assert ids(client, f"flaky/x/{status}/3") == [0, 1, 2]
    assert (len(api.seen), len(paced)) == (4, 4)


def test_retry_after_is_respected(api: Api) -> None:
    waited: list[float] = []
    client = RESTClient(api.url, session=quick(sleep=waited.append))

    assert ids(client, "flaky/x/429/2", params={"wait": "1"}) == [0, 1, 2]
    assert waited == [1.0, 1.0]


def test_a_broken_connection_is_retried(api: Api) -> None:
    assert ids(RESTClient(api.url, session=quick()), "cut") == [0, 1, 2]


def test_a_redirected_request_is_paced_twice(api: Api) -> None:
    paced: list[int] = []
    client = RESTClient(api.url)
    client.paced_by(lambda: paced.append(1))

    assert ids(client, "moved") == [0, 1, 2]
    assert len(paced) == len(api.seen) == 2


def test_redirected_requests_are_not_retried_more_often(api: Api) -> None:
    client = RESTClient(api.url, session=quick(attempts=3))

    with pytest.raises(requests.HTTPError, match="503 Server Error"):
        ids(client, "moved/flaky/x/503/99")
    assert client.get("moved/flaky/y/503/99").status_code == 503
    assert api.faults == {"x": 3, "y": 3}
    assert ids(client, "moved/flaky/z/503/2") == [0, 1, 2]


def test_a_final_error_is_raised_without_secrets(api: Api) -> None:
    auth = APIKeyAuth(name="k", api_key="another key of the tests", location="query")
    client = RESTClient(api.url, auth=auth, session=quick(attempts=2))

    with pytest.raises(requests.HTTPError, match="401 Client Error") as refused:
        ids(client, "secure/query")
    assert "another" not in str(refused.value)
    assert "k=***" in str(refused.value)
    with pytest.raises(requests.HTTPError, match="500 Server Error"):
        ids(client, "flaky/y/500/9")


def test_a_connection_error_shows_no_secret(api: Api) -> None:
    api.close()
    auth = APIKeyAuth(name="k", api_key="a key/of the tests", location="query")
    client = RESTClient(api.url, auth=auth, session=quick(attempts=2))

    with pytest.raises(requests.ConnectionError) as refused:
        client.get("x", params={"token": "visible-otherwise"})
    shown = str(refused.value)
    assert "of" not in shown.partition("url:")[2].partition("(")[0]
    assert "visible" not in shown
    assert refused.value.__context__ is None


def test_a_single_request_does_not_raise_for_its_status(api: Api) -> None:
    client = RESTClient(api.url, headers={"X-Said": "hello"})

    assert client.get("nothing").status_code == 404
    assert client.get("echo/a", params={"n": 1}).json()["said"] == "hello"
    assert client.post("echo/b", json={"n": 1}, headers={"X-Said": "bye"}).json()["said"] == "bye"
    with pytest.raises(UsageError, match="json or data"):
        client.post("echo/b", json={"n": 1}, data="x")


def test_paginate_needs_a_url_only(api: Api) -> None:
    assert [row["id"] for page in paginate(f"{api.url}/header") for row in page] == ALL
