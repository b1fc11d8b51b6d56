"""Cassettes record requests once and replay them, without secrets."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
import requests
from tests.restapi import KEY, PASSWORD, TOKEN, USER, Api

import penstock
from penstock.errors import RequestNotRecorded, UsageError
from penstock.redaction import remember_secret
from penstock.sources.helpers import requests as client
from penstock.sources.rest import RESTClient
from penstock.sources.rest_api import rest_api_source
from penstock.testing import assert_table, cassette, temporary_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

URL = "https://api.test/orders"


@pytest.fixture(autouse=True)
def _mode_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_CASSETTES", raising=False)
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tapes" / "orders.json"


@pytest.fixture
def recorded(path: Path) -> Callable[..., Any]:
    """Record requests against a server that ends then; return the result of the same requests replayed."""

    def record(make: Callable[[str], Any], **options: Any) -> Any:
        with Api() as api, cassette(path, "record", **options):
            result = make(api.url)
            count = len(api.seen)
        with cassette(path, **options):
            assert make(api.url) == result
        assert len(api.seen) == count
        return result

    return record


def exchanges(path: Path) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["exchanges"]
    return result


def write(path: Path, *recorded: tuple[str, Any], method: str = "GET") -> None:
    """Write a cassette with JSON responses by their URLs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = [
        {
            "request": {"method": method, "url": url, "headers": {}},
            "response": {"status": 200, "reason": "OK", "headers": {}, "body": {"json": document}},
        }
        for url, document in recorded
    ]
    path.write_text(json.dumps({"format": 1, "exchanges": content}))


# --- what is recorded and replayed


def test_pages_of_the_rest_source_are_replayed(recorded: Callable[..., Any]) -> None:
    def pages(url: str) -> Any:
        source = rest_api_source({"client": {"base_url": url}, "resources": ["link", "users", "header"]})
        return {name: list(resource) for name, resource in source.resources.items()}

    assert {name: len(rows) for name, rows in recorded(pages).items()} == {
        "link": 25,
        "users": 4,
        "header": 25,
    }


def test_sessions_of_users_and_plain_requests_are_replayed(recorded: Callable[..., Any]) -> None:
    def documents(url: str) -> Any:
        session = requests.Session()
        rows = [row for page in RESTClient(url, session=session).paginate("link") for row in page]
        return rows, requests.get(f"{url}/single", timeout=5).json(), client.get(f"{url}/nested").json()

    assert len(recorded(documents)[0]) == 25


def test_retries_are_replayed_in_order_and_without_a_pause(
    recorded: Callable[..., Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("penstock.sources.rest.retry.time.sleep", pauses.append)

    def rows(url: str) -> Any:
        own = RESTClient(url)
        # The type of `session` is that of requests; a client's own one has the pause of its retries.
        own.session._sleep = pauses.append  # type: ignore[attr-defined]
        return own.get("flaky/a/503/2").json(), own.get("flaky/b/429/1?wait=1").json()

    assert [len(document["data"]) for document in recorded(rows)] == [3, 3]

    statuses = [exchange["response"]["status"] for exchange in exchanges(path)]
    assert statuses == [503, 503, 200, 429, 200]
    assert len(pauses) == 3


def test_an_error_status_is_replayed(recorded: Callable[..., Any]) -> None:
    def error(url: str) -> str:
        with pytest.raises(requests.HTTPError) as caught:
            client.get(f"{url}/nowhere")
        return str(caught.value).replace(url, "")

    assert recorded(error) == "404 Client Error: Not Found for url: /nowhere"


def test_redirections_are_replayed(recorded: Callable[..., Any]) -> None:
    assert len(recorded(lambda url: requests.get(f"{url}/moved/single", timeout=5).json())["data"]) == 3


def test_requests_of_many_threads_are_replayed_in_another_order(path: Path) -> None:
    def page(url: str) -> Any:
        return requests.get(url, timeout=5).json()

    with Api() as api, cassette(path, "record"):
        urls = [f"{api.url}/offset?offset={offset}&limit=1" for offset in range(20)]
        with ThreadPoolExecutor(4) as pool:
            result = list(pool.map(page, urls))
    with cassette(path, all_used=True), ThreadPoolExecutor(4) as pool:
        replayed = list(pool.map(page, reversed(urls)))

    assert replayed[::-1] == result


def test_equal_requests_of_threads_get_each_response_once(path: Path) -> None:
    write(path, *((URL, number) for number in range(40)))

    with cassette(path, all_used=True), ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: requests.get(URL, timeout=5).json(), range(40)))

    assert sorted(numbers) == list(range(40))


@pytest.mark.parametrize(
    "body",
    [
        {"json": {"page": 2, "query": "ä"}},
        {"data": {"page": 2}},
        {"data": b"\xff\x00"},
        {"data": '{"amount": 1.12345678901234567890}'},
        {"files": {"file": b"content"}},
    ],
)
def test_requests_are_distinguished_by_their_bodies(body: dict[str, Any], path: Path) -> None:
    with Api() as api, cassette(path, "record"):
        for sent in (body, {"json": {"page": 3}}):
            requests.post(f"{api.url}/echo", timeout=5, **sent)

    with cassette(path):
        document = requests.post(f"{api.url}/echo", timeout=5, **body).json()
        with pytest.raises(RequestNotRecorded, match="the body is 'page=4'"):
            requests.post(f"{api.url}/echo", timeout=5, data="page=4")
    assert document["id"] == ""


def test_bodies_that_are_streams_are_sent_and_matched(path: Path) -> None:
    with Api() as api, cassette(path, "record"):
        requests.post(f"{api.url}/echo", data=BytesIO(b"a=1"), timeout=5)
        sent = api.seen[-1][3]

    with cassette(path):
        requests.post(f"{api.url}/echo", data=iter([b"a=", b"1"]), timeout=5)
    assert sent == {"a": "1"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1,2\n",
        b"\x00\xff",
        b'{"a": 1, "a": 2}',
        b'[1.10, 0.1234567890123456789, "\\ud800"]',
        "ä".encode(),
    ],
)
def test_a_body_is_replayed_with_the_same_bytes_or_the_same_document(content: bytes, path: Path) -> None:
    from penstock.testing.scrubbing import body_content, body_record

    assert body_content(body_record(content)) == content


def test_a_response_is_read_in_chunks_and_from_its_file(path: Path) -> None:
    write(path, (URL, [1, 2]), (URL, [3]))

    with cassette(path):
        first = requests.get(URL, stream=True, timeout=5)
        second = requests.get(URL, stream=True, timeout=5)

    assert b"".join(first.iter_content(2)) == b"[1, 2]"
    assert second.raw.read() == b"[3]"


def test_parameters_match_in_any_order(path: Path) -> None:
    write(path, (f"{URL}?b=2&a=1", "yes"))

    with cassette(path):
        assert requests.get(URL, params={"a": 1, "b": 2}, timeout=5).json() == "yes"


def test_two_recordings_of_parallel_requests_are_the_same_file(path: Path) -> None:
    texts = []
    with Api() as api:
        for numbers in ([3, 1, 2], [2, 3, 1]):
            with cassette(path, "record"):
                for number in numbers:
                    requests.get(f"{api.url}/echo/{number}", timeout=5)
            texts.append(path.read_text())

    assert texts[0] == texts[1]


# --- what is an error


def test_a_request_that_was_not_recorded_names_the_nearest_one(path: Path) -> None:
    write(path, (f"{URL}?page=1&size=5", 1), (f"{URL}?page=2&size=5", 2), ("https://api.test/users", 3))

    with cassette(path), pytest.raises(RequestNotRecorded) as caught:
        client.get(URL, params={"page": 3, "size": 5})

    assert vars(caught.value)["nearest"] in {
        f"GET {URL}?page={page}&size=5 (page is 3, recorded: {page})" for page in (1, 2)
    }
    assert "record again with PENSTOCK_CASSETTES=record" in str(caught.value)


def test_an_equal_request_more_than_recorded_is_an_error_unless_responses_repeat(path: Path) -> None:
    write(path, (URL, 1), (URL, 2))

    with cassette(path, repeats=True):
        assert [requests.get(URL, timeout=5).json() for _ in range(4)] == [1, 2, 2, 2]
    with cassette(path):
        assert [requests.get(URL, timeout=5).json() for _ in range(2)] == [1, 2]
        with pytest.raises(RequestNotRecorded, match=r"no more responses to GET .*; recorded: 2"):
            requests.get(URL, timeout=5)


def test_unused_requests_are_reported_if_requested(path: Path) -> None:
    write(path, (URL, 1), (f"{URL}?page=2", 2))

    with cassette(path) as active:
        requests.get(URL, timeout=5)
    with (
        pytest.raises(AssertionError, match=r"orders.json were not made \(1\):\n  GET .*page=2$"),
        cassette(path, all_used=True),
    ):
        requests.get(URL, timeout=5)
    with pytest.raises(ZeroDivisionError), cassette(path, all_used=True):
        raise ZeroDivisionError

    assert repr(active) == "<penstock.testing.Cassette orders.json (replay)>"


def test_unused_requests_are_listed_within_the_block(path: Path) -> None:
    write(path, (URL, 1), (f"{URL}?page=2", 2))

    with cassette(path) as active:
        requests.get(URL, timeout=5)
        assert active.unused() == [f"GET {URL}?page=2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("[1", "is not valid JSON"),
        ("[]", "format 1"),
        ('{"format": 2}', "format 1"),
    ],
)
def test_a_bad_cassette_is_an_error(content: str | None, message: str, path: Path) -> None:
    path.parent.mkdir()
    if content is not None:
        path.write_text(content)

    with pytest.raises(UsageError, match=message), cassette(path):
        raise AssertionError("the block is not entered")


def test_a_failed_or_empty_recording_keeps_the_file(path: Path) -> None:
    write(path, (URL, 1))
    before = path.read_text()

    def fail(url: str) -> None:
        with cassette(path, "record"):
            requests.get(f"{url}/single", timeout=5)
            raise ZeroDivisionError

    with Api() as api, pytest.raises(ZeroDivisionError):
        fail(api.url)
    with pytest.raises(UsageError, match="no request was made"), cassette(path, "record"):
        pass

    assert path.read_text() == before
    assert [file.name for file in path.parent.iterdir()] == ["orders.json"]


def test_a_cassette_inside_of_another_is_refused(path: Path) -> None:
    write(path, (URL, 1))

    with cassette(path), pytest.raises(UsageError, match="inside of another"), cassette(path):
        raise AssertionError("the block is not entered")


def test_sessions_connect_again_after_the_block(path: Path) -> None:
    write(path, (URL, 1))
    before = requests.Session.get_adapter

    with cassette(path):
        assert requests.Session.get_adapter is not before

    assert requests.Session.get_adapter is before


# --- modes


def test_the_environment_variable_wins_over_the_argument(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CASSETTES", "record")
    with Api() as api, cassette(path) as active:
        requests.get(f"{api.url}/single", timeout=5)
    assert active.mode == "record"
    monkeypatch.setenv("PENSTOCK_CASSETTES", "replay")
    with cassette(path, "record") as active:
        assert active.mode == "replay"
    monkeypatch.setenv("PENSTOCK_CASSETTES", "rewind")
    with pytest.raises(UsageError, match="'rewind' is not a mode"), cassette(path):
        pass


def test_auto_records_only_a_missing_file_and_never_in_ci(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    with Api() as api:
        for _ in range(2):
            with cassette(path, "auto") as active:
                requests.get(f"{api.url}/single", timeout=5)
            modes.append(active.mode)
    path.unlink()
    monkeypatch.setenv("CI", "true")

    assert modes == ["record", "replay"]
    assert len(api.seen) == 1
    with pytest.raises(UsageError, match="does not exist"), cassette(path, "auto"):
        pass


# --- secrets

AUTHS: dict[str, Any] = {
    "bearer": {"type": "bearer", "token": TOKEN},
    "header": {"type": "api_key", "name": "X-Key", "api_key": KEY},
    "query": {"type": "api_key", "name": "k", "api_key": KEY, "location": "query"},
    "cookie": {"type": "api_key", "name": "k", "api_key": KEY, "location": "cookie"},
    "basic": {"type": "http_basic", "username": USER, "password": PASSWORD},
    "oauth": {"type": "oauth2_client_credentials", "client_id": USER, "client_secret": PASSWORD},
}


@pytest.mark.parametrize("kind", AUTHS)
def test_credentials_of_the_rest_source_are_not_in_the_file_and_match_others(kind: str, path: Path) -> None:
    def read(url: str, auth: dict[str, Any]) -> list[Any]:
        auth = {**auth, **({"access_token_url": f"{url}/token"} if kind == "oauth" else {})}
        config: Any = {"client": {"base_url": url, "auth": auth}, "resources": [f"secure/{kind}"]}
        (resource,) = rest_api_source(config).resources.values()
        return list(resource)

    with Api() as api, cassette(path, "record"):
        rows = read(api.url, AUTHS[kind])
    invented = {
        name: value if name in {"type", "name", "location"} else f"invented-{name}"
        for name, value in AUTHS[kind].items()
    }
    with cassette(path, all_used=True):
        assert read(api.url, invented) == rows

    text = path.read_text()
    assert len(rows) == 3
    assert [secret for secret in (TOKEN, KEY, PASSWORD) if secret in text] == []
    assert "***" in text


def test_unregistered_credentials_are_masked_by_their_names(path: Path) -> None:
    secret = "plover-4711"
    headers = {"X-Anything": secret, "Authorization": f"Custom {secret}", "Cookie": f"s={secret}"}
    query = f"api_key={secret}&key={secret}&sig={secret}&k={secret}&page=2"
    with Api() as api, cassette(path, "record", hidden=["k"]):
        url = f"{api.url}/single"
        requests.get(f"{url}?{query}", headers=headers, timeout=5)
        requests.post(url, json={"client_secret": secret, "deep": [{"k": secret}]}, timeout=5)
        requests.post(url, data={"password": secret, "a": 1}, timeout=5)
        requests.get(url, auth=("ada", secret), timeout=5)

    assert secret not in path.read_text()
    with cassette(path, hidden=["k"]):
        assert requests.get(f"{url}?{query.replace(secret, 'other')}", timeout=5).status_code == 200
        requests.post(url, data={"password": "other", "a": 1}, timeout=5)
        with pytest.raises(RequestNotRecorded):
            requests.post(url, data={"password": "other", "a": 2}, timeout=5)


def test_secrets_are_masked_anywhere(path: Path) -> None:
    remember_secret("settings-secret-1")
    everywhere = ["settings-secret-1", "passed-secret-2"]
    with Api() as api, cassette(path, "record", secrets=everywhere[1:]):
        for secret in everywhere:
            requests.get(f"{api.url}/echo/{secret}/x?q=is {secret}", headers={"Accept": secret}, timeout=5)
            requests.post(f"{api.url}/echo", data=b"\xff" + secret.encode(), timeout=5)
            requests.post(f"{api.url}/echo", json={"text": f"is {secret}", f"{secret}": 1}, timeout=5)

    import base64

    text = path.read_text()
    binary = [
        base64.b64decode(exchange["request"]["body"]["base64"])
        for exchange in exchanges(path)
        if "base64" in exchange["request"].get("body", {})
    ]
    assert [secret for secret in everywhere if secret in text or secret.encode() in b"".join(binary)] == []
    assert binary == [b"\xff***"] * 2


def test_a_token_that_is_registered_after_its_response_is_masked(path: Path) -> None:
    with Api() as api, cassette(path, "record"):
        document = requests.get(f"{api.url}/echo/late-token-31337", timeout=5).json()
        remember_secret(document["id"])

    assert "late-token" not in path.read_text()


def test_positions_of_pages_and_visible_names_are_not_masked(path: Path) -> None:
    with Api() as api, cassette(path, "record", visible=["secretary"]):
        document = {
            "nextPageToken": "c1",
            "next": "x?page_token=c2",
            "secretary": "Ada",
            "access_token": "x7",
        }
        requests.post(f"{api.url}/echo?pageToken=c3", json=document, timeout=5)

    (exchange,) = exchanges(path)
    assert exchange["request"]["url"].endswith("?pageToken=c3")
    assert exchange["request"]["body"]["json"] == {**document, "access_token": "***"}


def test_an_error_masks_the_secrets_of_the_request(path: Path) -> None:
    write(path, (f"{URL}?page=1", 1))

    with cassette(path), pytest.raises(RequestNotRecorded) as caught:
        requests.get(f"{URL}?page=2&api_key=plover-4711", timeout=5)

    assert "plover" not in f"{caught.value} {vars(caught.value)}"


def test_temporary_files_are_deleted_and_hold_no_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = path.parent.parent / "temporary"
    folders.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    with Api() as api, cassette(path, "record"):
        requests.get(f"{api.url}/echo?api_key=plover-4711", timeout=5)
        texts = [file.read_text() for file in folders.glob("*/*")]

    assert len(texts) == 1
    assert "plover" not in texts[0]
    assert list(folders.iterdir()) == []


# --- pipelines


@pytest.mark.usefixtures("no_spark")
def test_a_pipeline_loads_a_cassette(path: Path) -> None:
    def load(url: str) -> None:
        config: Any = {"client": {"base_url": url}, "resources": ["users", "link"]}
        with temporary_pipeline("shop") as pipeline:
            pipeline.run(rest_api_source(config))
            assert_table(pipeline, "link", count=25, unique="id")

    with Api() as api, cassette(path, "record"):
        load(api.url)
    with cassette(path, all_used=True):
        load(api.url)


@pytest.mark.usefixtures("no_spark")
def test_work_items_on_the_driver_are_replayed(path: Path) -> None:
    write(path, *((f"{URL}/{number}", {"id": number}) for number in range(6)))

    @penstock.resource(work_items=range(6))
    def orders(item: int) -> Iterator[Any]:
        yield client.get(f"{URL}/{item}").json()

    with (
        cassette(path, all_used=True),
        temporary_pipeline("shop", settings={"extract.work_items": "driver"}) as pipeline,
    ):
        pipeline.run(orders)
        assert_table(pipeline, "orders", rows=[{"id": number} for number in range(6)])


def test_requests_of_other_threads_are_replayed(path: Path) -> None:
    write(path, (URL, 7))
    documents: list[Any] = []

    with cassette(path):
        thread = threading.Thread(target=lambda: documents.append(requests.get(URL, timeout=5).json()))
        thread.start()
        thread.join()

    assert documents == [7]
