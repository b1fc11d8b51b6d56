"""The client for functions of resources against a local server."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.sources.rest.fake_hosts import Answer, FakeHosts

from penstock.sources.helpers import requests
from penstock.sources.rest import HttpClient, RequestSettings, RESTClient
from penstock.sources.rest.http_client import client as module_client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.restapi import Api


def quick(**options: Any) -> HttpClient:
    return HttpClient(**{"request_backoff_factor": 0.001, **options})


@pytest.fixture
def configured() -> Iterator[None]:
    yield
    requests.init(RequestSettings())


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refused_request_is_repeated(api: Api, status: int) -> None:
    response = quick().get(f"{api.url}/flaky/x/{status}/2")

    assert (response.status_code, len(api.seen)) == (200, 3)
    assert isinstance(response, requests.Response)


def test_an_error_status_is_raised_after_the_last_attempt(api: Api) -> None:
    with pytest.raises(requests.HTTPError) as failure:
        quick(request_max_attempts=3).get(f"{api.url}/flaky/x/503/9")

    assert (failure.value.response.status_code, len(api.seen)) == (503, 3)


def test_a_client_error_is_raised_at_once(api: Api) -> None:
    with pytest.raises(requests.RequestException, match="404 Client Error"):
        quick().get(f"{api.url}/users/99")

    assert len(api.seen) == 1


def test_without_raising_the_last_response_is_returned(api: Api) -> None:
    client = quick(raise_for_status=False, request_max_attempts=2)

    assert client.get(f"{api.url}/flaky/x/500/9").status_code == 500
    assert len(api.seen) == 2


def cut_once(**options: Any) -> tuple[HttpClient, FakeHosts]:
    """Return a client whose first connection is cut, and the hosts that it asks."""
    hosts = FakeHosts(lambda _: (200, {}, {}))

    def answer(_: Any) -> Answer:
        if len(hosts.seen) == 1:
            raise requests.ConnectionError("cut")
        return 200, {}, {}

    hosts.answer = answer
    client = quick(**options)
    client.session.mount("https://", hosts)
    return client, hosts


def test_a_cut_connection_is_repeated() -> None:
    client, hosts = cut_once()

    assert client.get("https://api.test").status_code == 200
    assert len(hosts.seen) == 2


def test_a_cut_connection_is_raised_when_only_other_errors_are_retried() -> None:
    client, hosts = cut_once(exceptions=(requests.Timeout,))

    with pytest.raises(requests.ConnectionError):
        client.get("https://api.test")
    assert len(hosts.seen) == 1


def test_a_condition_decides_on_more_retries(api: Api) -> None:
    def is_short(response: requests.Response | None, error: BaseException | None) -> bool:
        return response is not None and len(response.json()["data"]) < 4

    client = quick(retry_condition=is_short, request_max_attempts=3)

    assert client.get(f"{api.url}/single").status_code == 200
    assert len(api.seen) == 3


def test_a_retry_after_is_respected_up_to_the_longest_delay(api: Api) -> None:
    short = HttpClient(request_max_retry_delay=timedelta(milliseconds=1))

    assert short.get(f"{api.url}/flaky/x/429/1?wait=1").status_code == 200


def test_a_redirect_to_an_error_is_raised_once_per_attempt(api: Api) -> None:
    with pytest.raises(requests.HTTPError, match="404"):
        quick().get(f"{api.url}/moved/nowhere")

    assert api.paths == ["/moved/nowhere", "/nowhere"]


def test_each_method_sends_its_request(api: Api) -> None:
    client = quick()

    assert client.post(f"{api.url}/echo/x", json={"a": 1}).json()["body"] == {"a": 1}
    assert client.request("GET", f"{api.url}/echo/x", params={"b": 2}).json()["query"] == {"b": "2"}
    assert [method for _, method, _, _ in api.seen] == ["POST", "GET"]


def test_each_thread_has_a_session_and_session_attributes_apply_to_all() -> None:
    client = HttpClient(session_attrs={"max_redirects": 3})
    sessions = [client.session, client.session]
    thread = threading.Thread(target=lambda: sessions.append(client.session))
    thread.start()
    thread.join()

    assert sessions[0] is sessions[1]
    assert sessions[2] is not sessions[0]
    assert {session.max_redirects for session in sessions} == {3}


def test_a_session_makes_one_attempt_and_raises(api: Api) -> None:
    with pytest.raises(requests.HTTPError):
        requests.Session(timeout=5).get(f"{api.url}/flaky/x/500/1")
    assert len(api.seen) == 1
    assert requests.Session(raise_for_status=False).get(f"{api.url}/users/99").status_code == 404


@pytest.mark.usefixtures("configured")
def test_the_client_of_the_module_reads_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, api: Api
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNTIME__REQUEST_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("RUNTIME__REQUEST_BACKOFF_FACTOR", "0.001")
    requests.init()

    with pytest.raises(requests.HTTPError):
        requests.get(f"{api.url}/flaky/x/500/9")

    assert len(api.seen) == 2
    assert requests.client is module_client


def test_a_session_of_a_client_serves_a_rest_client(api: Api) -> None:
    client = RESTClient(api.url, session=quick().session)

    assert [len(page) for page in client.paginate("link")] == [10, 10, 5]
    with pytest.raises(requests.HTTPError):
        client.get("users/99")


def test_a_message_has_the_body_of_an_error_response_when_settings_show_it(api: Api) -> None:
    shown = RESTClient(
        api.url, config=RequestSettings(http_show_error_body=True, http_max_error_body_length=9)
    )

    with pytest.raises(requests.HTTPError, match=r'body: {"error":$'):
        list(shown.paginate("users/99"))
    with pytest.raises(requests.HTTPError, match=r"users/99$"):
        list(RESTClient(api.url).paginate("users/99"))
