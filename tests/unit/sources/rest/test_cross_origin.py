"""Credentials are not sent to other hosts by redirects, next pages and URLs from data."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import requests
from tests.restapi import Api
from tests.unit.sources.rest.fake_hosts import Answer, FakeHosts, query_of, session_to

from penstock.errors import InvalidSourceConfig
from penstock.sources.decorators import resource as resource_of
from penstock.sources.rest import (
    APIKeyAuth,
    BasePaginator,
    BearerTokenAuth,
    HeaderLinkPaginator,
    HttpBasicAuth,
    JSONLinkPaginator,
    RESTClient,
    RetrySession,
)
from penstock.sources.rest.urls import is_cross_origin, keep_https
from penstock.sources.rest_api import rest_api_source
from penstock.sources.rest_api.endpoint import Endpoint, fetch_children
from penstock.sources.rest_api.executor_resources import EXECUTOR_MODULES
from penstock.spark.serialization import serialize_by_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from requests.auth import AuthBase

API, OTHER, SECRET = "https://api.test", "https://other.test", "secret-of-the-tests-11"

AUTHS: dict[str, Any] = {
    "bearer": lambda: BearerTokenAuth(SECRET),
    "header": lambda: APIKeyAuth(name="X-Key", api_key=SECRET),
    "query": lambda: APIKeyAuth(name="k", api_key=SECRET, location="query"),
    "cookie": lambda: APIKeyAuth(name="k", api_key=SECRET, location="cookie"),
    "basic": lambda: HttpBasicAuth("ada", SECRET),
    "of-the-library": lambda: requests.auth.HTTPBasicAuth("ada", SECRET),
}


def log_ins(hosts: FakeHosts) -> list[bool]:
    """For each request, whether there was one."""
    named = ("Authorization", "X-Key", "Cookie")
    return [
        any(name in request.headers for name in named) or "k" in query_of(request) for request in hosts.seen
    ]


def moving(*places: str) -> FakeHosts:
    """Each place is elsewhere, and the last one has the rows."""
    after = dict(pairwise(places))

    def answer(request: requests.PreparedRequest) -> Answer:
        target = after.get(str(request.url).partition("?")[0])
        return (302, {}, {"Location": target}) if target else (200, {"data": [{"id": 1}]}, {})

    return FakeHosts(answer)


def linked(*places: str, header: bool = False) -> FakeHosts:
    """Each place has a row, and names the next one."""
    after = dict(pairwise(places))

    def answer(request: requests.PreparedRequest) -> Answer:
        place = str(request.url).partition("?")[0]
        target = after.get(place)
        link = {"Link": f'<{target}>; rel="next"'} if target and header else {}
        return 200, {"data": [{"id": place}], "next": None if header else target}, link

    return FakeHosts(answer)


@pytest.mark.parametrize("kind", ["bearer", "header", "basic"])
def test_a_redirect_to_another_host_has_no_credentials(kind: str) -> None:
    hosts = moving(f"{API}/a", f"{API}/b", f"{OTHER}/c", f"{OTHER}/d", f"{API}/e")
    headers = {"X-Said": "hello", "X-Tenant": "ours", "Accept": "text/csv"}
    client = RESTClient(
        API, auth=AUTHS[kind](), headers=headers, session=session_to(hosts), safe_headers=["x-tenant"]
    )

    assert client.get("a").status_code == 200
    assert log_ins(hosts) == [True, True, False, False, False]
    assert hosts.header_values("X-Said") == ["hello"] * 2 + [None] * 3
    assert hosts.header_values("X-Tenant") == ["ours"] * 5
    assert hosts.header_values("Accept") == ["text/csv"] * 5


def test_a_netrc_file_may_have_credentials_for_the_other_host(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = moving(f"{API}/a", f"{OTHER}/b")
    session = session_to(hosts)
    session.trust_env = True
    monkeypatch.setattr(
        "requests.sessions.get_netrc_auth", lambda url: ("ada", "x") if OTHER in url else None
    )

    RESTClient(API, auth=BearerTokenAuth(SECRET), session=session).get("a")

    assert [str(value).split()[0] for value in hosts.header_values("Authorization")] == ["Bearer", "Basic"]


@pytest.mark.parametrize("kind", AUTHS)
@pytest.mark.parametrize("header", [False, True], ids=["json", "header"])
def test_a_next_page_on_another_host_has_no_credentials(kind: str, header: bool) -> None:
    auth: AuthBase = AUTHS[kind]()
    places = (f"{API}/a", f"{API}/b", f"{OTHER}/c", f"{OTHER}/d", f"{API}/e")
    hosts = linked(*places, header=header)
    paginator = HeaderLinkPaginator() if header else JSONLinkPaginator()
    client = RESTClient(API, auth=auth, paginator=paginator, session=session_to(hosts))

    assert [row["id"] for page in client.paginate("a") for row in page] == list(places)
    # Who names the addresses could lead back, so it is not said again there.
    assert log_ins(hosts) == [True, True, False, False, False]
    hosts.seen.clear()
    assert len(list(client.paginate("a"))) == 5
    assert log_ins(hosts)[0]


def test_http_links_of_an_https_server_are_requested_by_https(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(request: requests.PreparedRequest) -> Answer:
        target = "http://api.test/b?page=2" if str(request.url).endswith("/a") else None
        return 200, {"data": [{"id": 1}], "next": target}, {}

    hosts = FakeHosts(answer)
    client = RESTClient(
        API, auth=BearerTokenAuth(SECRET), paginator=JSONLinkPaginator(), session=session_to(hosts)
    )

    assert len(list(client.paginate("a"))) == 2
    assert hosts.urls == [f"{API}/a", f"{API}/b?page=2"]
    assert log_ins(hosts) == [True, True]
    assert not caplog.messages


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("https://api.test:8443/a", "http://api.test:8443/b", "https://api.test:8443/b"),
        ("https://api.test:443/a", "http://api.test/b", "https://api.test:443/b"),
        ("https://api.test/a", "http://api.test:8080/b", "http://api.test:8080/b"),
        ("https://api.test/a", "http://api.test:x/b", "http://api.test:x/b"),
        ("http://api.test/a", "http://api.test/b", "http://api.test/b"),
    ],
)
def test_https_is_kept_unless_the_ports_differ(old: str, new: str, asked: str) -> None:
    assert keep_https(old, new) == asked


def test_removed_credentials_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    hosts = linked(f"{API}/a", f"{OTHER}/b", f"{API}/c")
    client = RESTClient(
        API, auth=BearerTokenAuth(SECRET), paginator=JSONLinkPaginator(), session=session_to(hosts)
    )

    assert len(list(client.paginate("a"))) == 3
    assert caplog.messages == ["the pages of api.test continue at other.test; credentials are not sent there"]


@pytest.mark.parametrize("way", ["client", "session", "session-auth", "call"])
def test_credentials_are_removed_wherever_they_were_set(way: str) -> None:
    hosts = linked(f"{API}/a", f"{OTHER}/c")
    value = {"authorization": f"Bearer {SECRET}", "Cookie": f"k={SECRET}", "X-Said": "hello"}
    session = session_to(hosts)
    if way == "session":
        session.headers.update(value)
    elif way == "session-auth":
        session.auth = ("ada", SECRET)
    client = RESTClient(API, headers=value if way == "client" else None, session=session)
    headers = value if way == "call" else None

    pages = list(client.paginate("a", paginator=JSONLinkPaginator(), headers=headers))

    assert len(pages) == 2
    assert log_ins(hosts) == [True, False]
    if way != "session-auth":
        assert hosts.header_values("X-Said") == ["hello", None]
    assert "authorization" in value


def test_a_key_in_a_url_of_another_host_is_masked() -> None:
    def answer(request: requests.PreparedRequest) -> Answer:
        if OTHER in str(request.url):
            raise requests.ConnectionError(f"no way to {request.url}")
        return 200, {"data": [{"id": 1}], "next": f"{OTHER}/c?k={SECRET}"}, {}

    auth = APIKeyAuth(name="k", api_key=SECRET, location="query")
    client = RESTClient(API, auth=auth, session=session_to(FakeHosts(answer), attempts=1))

    with pytest.raises(requests.ConnectionError, match=r"no way to .*k=\*\*\*"):
        list(client.paginate("a", paginator=JSONLinkPaginator()))


@pytest.mark.parametrize(
    ("other", "elsewhere"),
    [
        ("https://api.test/x?y#z", False),
        ("https://API.test:443/x", False),
        ("https://ada:x@api.test/x", False),
        ("http://api.test/x", True),
        ("https://api.test:444/x", True),
        ("https://api.test.evil.test/x", True),
        ("https://api.test@evil.test/x", True),
        ("https://evil.test\\@api.test/x", True),
        (" https://evil.test", True),
        ("https://api.test:x/", True),
        ("https://", True),
        ("nowhere", True),
    ],
)
def test_another_origin_is_recognized(other: str, elsewhere: bool) -> None:
    assert is_cross_origin("https://api.test/v1", other) is elsewhere


def test_https_of_the_same_host_is_the_same_origin() -> None:
    assert not is_cross_origin("http://api.test/x", "https://api.test/x")


@pytest.mark.parametrize("kind", AUTHS)
def test_a_url_from_data_has_credentials_only_for_the_api(kind: str) -> None:
    hosts = linked()
    urls = [f"{API}/users/1", f"{OTHER}/users/2", "/users/3", "//other.test/4"]
    client = {"base_url": API, "auth": AUTHS[kind](), "session": session_to(hosts)}
    parents = resource_of([{"url": url} for url in urls], name="things")
    children = {"name": "a", "endpoint": {"path": "{resources.things.url}/posts", "paginator": "single_page"}}

    received = [
        row["id"]
        for row in rest_api_source({"client": client, "resources": [parents, children]})
        if "id" in row
    ]

    assert received == [
        f"{API}/users/1/posts",
        f"{OTHER}/users/2/posts",
        f"{API}/users/3/posts",
        f"{API}/other.test/4/posts",
    ]
    assert log_ins(hosts) == [True, False, True, True]


def test_a_url_of_the_configuration_has_credentials() -> None:
    hosts = linked()
    client = {"base_url": API, "auth": {"token": SECRET}, "session": session_to(hosts)}
    parents = resource_of([{"id": 7}], name="things")
    children = {"name": "a", "endpoint": f"{OTHER}/users/{{resources.things.id}}"}

    list(rest_api_source({"client": client, "resources": [parents, children]}))

    assert log_ins(hosts) == [True]


HEADERS = {"X-Api-Key": SECRET, "PRIVATE-TOKEN": SECRET, "X-Tenant": "ours", "Accept": "application/json"}


@pytest.fixture
def other(api: Api) -> Iterator[Api]:
    with Api() as running:
        api.other = running.url
        yield running


@pytest.mark.parametrize("own_session", [False, True], ids=["session of penstock", "session of the user"])
@pytest.mark.parametrize("way", ["link", "redirect"])
def test_headers_cookies_and_params_go_to_the_first_server_only(
    way: str, own_session: bool, api: Api, other: Api
) -> None:
    session = requests.Session() if own_session else RetrySession()
    session.trust_env = False
    session.headers["X-Session-Key"] = SECRET
    session.cookies.set("session", SECRET)
    session.params = {"session_key": SECRET}
    client = RESTClient(api.url, headers=HEADERS, session=session, safe_headers=["X-Tenant"])

    pages = list(client.paginate(f"leaving/{way}", params={"key": SECRET}, paginator=JSONLinkPaginator()))

    assert len(pages) == (2 if way == "link" else 1)
    first, second = api.headers[0], other.headers[0]
    assert first["X-Api-Key"] == first["X-Session-Key"] == SECRET
    assert api.paths == [f"/leaving/{way}?session_key={SECRET}&key={SECRET}"]
    assert SECRET not in f"{second} {other.paths}"
    assert (second["X-Tenant"], second["Accept"]) == ("ours", "application/json")


def test_a_cookie_of_the_other_host_is_sent_there() -> None:
    hosts = linked(f"{API}/a", f"{OTHER}/c")
    session = session_to(hosts)
    session.cookies.set("k", SECRET)
    session.cookies.set("theirs", "x", domain="other.test")

    list(RESTClient(API, session=session).paginate("a", paginator=JSONLinkPaginator()))

    assert hosts.header_values("Cookie") == [f"k={SECRET}", "theirs=x"]


class Wandering(BasePaginator):
    """As users write their own: it changes the address only."""

    def update_state(self, response: requests.Response, data: list[Any] | None = None) -> None:
        self.there = response.json()["next"]
        self._has_next_page = bool(self.there)

    def update_request(self, request: requests.Request) -> None:
        request.url = self.there


def test_custom_paginators_send_no_credentials_to_another_host() -> None:
    hosts = linked(f"{API}/a", f"{OTHER}/c")
    client = RESTClient(
        API, headers=HEADERS, auth=BearerTokenAuth(SECRET), session=session_to(hosts), paginator=Wandering()
    )

    list(client.paginate("a", params={"key": SECRET, "size": 10}))

    assert SECRET in str(hosts.seen[0].headers)
    assert SECRET not in f"{hosts.seen[1].headers} {hosts.urls[1]}"


@pytest.mark.parametrize("way", ["link", "redirect"])
def test_headers_of_endpoints_are_sent_to_the_first_server_only(way: str, api: Api, other: Api) -> None:
    endpoint = {"path": f"leaving/{way}", "headers": {"X-More": SECRET}, "paginator": "json_link"}
    client = {"base_url": api.url, "headers": HEADERS, "safe_headers": ["X-Tenant"]}
    things = {"name": "things", "endpoint": endpoint}

    assert list(rest_api_source({"client": client, "resources": [things]}))

    assert api.headers[0]["X-Api-Key"] == api.headers[0]["X-More"] == SECRET
    assert SECRET not in str(other.headers)
    assert other.headers[0]["X-Tenant"] == "ours"


def test_a_url_from_data_has_no_keys_for_another_server(api: Api, other: Api) -> None:
    parents = resource_of([{"url": f"{api.url}/echo"}, {"url": f"{other.url}/echo"}], name="things")
    endpoint = {"path": "{resources.things.url}/posts", "params": {"api_key": SECRET, "size": 10}}
    client = {"base_url": api.url, "headers": HEADERS}

    list(rest_api_source({"client": client, "resources": [parents, {"name": "a", "endpoint": endpoint}]}))

    assert api.headers[0]["X-Api-Key"] == SECRET
    assert SECRET not in f"{other.headers} {other.paths}"
    assert other.paths == ["/echo/posts?size=10"]


def test_safe_headers_must_be_a_list(api: Api) -> None:
    client = {"base_url": api.url, "safe_headers": "X-Tenant"}

    with pytest.raises(InvalidSourceConfig, match=r"client\.safe_headers"):
        rest_api_source({"client": client, "resources": ["a"]})


EXECUTOR = """
import pickle, sys
sys.modules["penstock"] = None
fetch, endpoint = pickle.load(sys.stdin.buffer)
rows = [{"values": {}, "included": {}}]
print(sum(len(page) for page in fetch(rows, endpoint, "")))
"""


@pytest.mark.parametrize("way", ["link", "redirect"])
def test_executors_send_headers_to_the_first_server_only(way: str, api: Api, other: Api) -> None:
    client = RESTClient(api.url, headers=HEADERS, safe_headers=["X-Tenant"], session=RetrySession())
    endpoint = Endpoint(
        resource="things", client=client, path=f"leaving/{way}", paginator=JSONLinkPaginator()
    )

    code = serialize_by_value((fetch_children, endpoint), *EXECUTOR_MODULES)
    done = subprocess.run([sys.executable, "-c", EXECUTOR], input=code, capture_output=True, check=True)

    assert int(done.stdout) == (6 if way == "link" else 3)
    assert api.headers[0]["X-Api-Key"] == SECRET
    assert SECRET not in str(other.headers)
    assert other.headers[0]["X-Tenant"] == "ours"
