"""HTTP error responses are reported with URL, status and body, not as errors of user code."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
import requests
from tests.restapi import Api
from tests.step_failures import step_raises

import penstock
from penstock.errors import RequestRefused, ResourceFailed, ServerFailed
from penstock.extract.http_errors import MAX_BODY_LENGTH, http_error_details
from penstock.extract.waves.executor_task import FAILED_PART, ExecutorTask
from penstock.extract.waves.run import raise_remote_error
from penstock.pipeline.retry import retry_load
from penstock.sources.rest import BearerTokenAuth, RESTClient, RetrySession
from penstock.sources.rest_api import rest_api_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as running:
        yield running


STATUSES = {
    401: (RequestRefused, "Unauthorized", "auth"),
    404: (RequestRefused, "Not Found", "path"),
    418: (RequestRefused, "I'm a Teapot", "request"),
    429: (ServerFailed, "Too Many Requests", "rate_limit"),
    500: (ServerFailed, "Internal Server Error", "run again"),
}


@pytest.mark.parametrize("status", STATUSES)
def test_an_http_error_names_the_url_the_status_and_the_fix(status: int, api: Api, tmp_path: Path) -> None:
    kind, phrase, advice = STATUSES[status]
    client = {"base_url": api.url, "session": RetrySession(attempts=1)}
    endpoint = {"path": f"flaky/x/{status}/9", "params": {"api_key": "hush-hush-hush"}}
    source = rest_api_source({"client": client, "resources": [{"name": "orders", "endpoint": endpoint}]})

    with step_raises(kind, step="extract") as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(source)

    error = caught.value
    url = f"{api.url}/flaky/x/{status}/9"
    assert error.message.startswith(f"a request of orders returned {status} {phrase}: {url}")
    assert advice in error.hint
    assert "your code" not in str(error)
    host = api.url.removeprefix("http://")
    assert (error.resource, error.url, error.host, error.status) == ("orders", url, host, status)
    assert isinstance(error, ResourceFailed)
    assert isinstance(error.__cause__, requests.HTTPError)
    assert "hush-hush-hush" not in f"{error} {vars(error)}"
    assert caught.failed[0].is_retryable is (kind is ServerFailed)
    assert retry_load(("extract",))(caught.failed[0]) is (kind is ServerFailed)


@pytest.mark.parametrize("library", ["requests", "urllib"])
def test_http_errors_of_user_code_are_recognized(library: str, api: Api, tmp_path: Path) -> None:
    url = f"{api.url}/flaky/x/500/9"

    def get_orders() -> Iterator[Any]:
        if library == "requests":
            response = requests.get(url, timeout=10)
            response.raise_for_status()
        else:
            urllib.request.urlopen(url, timeout=10)
        yield {}

    with step_raises(ServerFailed, step="extract") as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(
            penstock.resource(get_orders, name="orders")
        )

    assert caught.value.status == 500


def test_an_http_error_on_an_executor_is_reported_the_same_way(api: Api) -> None:
    def get_orders(_: Any) -> Iterator[Any]:
        requests.get(f"{api.url}/secure/bearer", timeout=10).raise_for_status()
        yield {}

    job = ExecutorTask(
        resource="orders",
        table=None,
        code=b"",
        deserialize=lambda _: (get_orders, (), None, None, None),
        parts=[[(0, {"n": 1})]],
        interval=None,
        seconds=60,
        secrets=(),
        keeps_bad_rows=False,
    )
    [(part, text)] = job.output_rows(0)

    with pytest.raises(RequestRefused) as caught:
        raise_remote_error("orders", text)

    assert part == FAILED_PART
    assert json.loads(text)["status"] == 401
    url = f"{api.url}/secure/bearer"
    assert caught.value.message == (
        f'a request of orders returned 401 Unauthorized: {url}; body: {{"error": "who are you"}}'
    )


def test_a_body_is_shortened_and_one_that_cannot_be_read_is_left_out() -> None:
    class Streamed:
        status_code, url = 503, "https://api.example.com/orders?token=hush"

        @property
        def text(self) -> str:
            raise RuntimeError("not read")

    def error(response: Any) -> Exception:
        return requests.HTTPError("no", response=response)

    page = requests.Response()
    page.status_code, page.url = 403, "https://ada:hush@api.example.com/orders?token=hush"
    page._content = b"<html>\n  <p>" + b"x" * 10_000

    details = http_error_details(error(page))

    assert details is not None
    assert details[:2] == ("https://api.example.com/orders", 403)
    assert (details[2][:12], len(details[2])) == ("<html> <p>xx", MAX_BODY_LENGTH)
    assert http_error_details(error(Streamed())) == ("https://api.example.com/orders", 503, "")


@pytest.mark.parametrize("library", ["requests", "rest"])
def test_a_wrong_token_is_reported_with_the_body_of_the_response(
    library: str, api: Api, tmp_path: Path
) -> None:
    url = f"{api.url}/secure/bearer"

    def get_orders() -> Iterator[Any]:
        if library == "requests":
            requests.get(url, timeout=10).raise_for_status()
        yield from RESTClient(api.url, auth=BearerTokenAuth("wrong-token")).paginate("secure/bearer")

    with step_raises(RequestRefused, step="extract") as caught:
        penstock.pipeline("shop", pipelines_dir=tmp_path).extract(
            penstock.resource(get_orders, name="orders")
        )

    assert caught.value.message.endswith(f'{url}; body: {{"error": "who are you"}}')
    assert caught.value.hint.startswith("check auth: ")
    assert isinstance(caught.value.__cause__, requests.HTTPError)
