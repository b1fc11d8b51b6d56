"""Records requests of this process, or replays them. Also runs where penstock is not installed."""

from __future__ import annotations

import difflib
import json
import os
import re
import time
import uuid
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from penstock.errors import RequestNotRecorded, UsageError
from penstock.redaction import MASK
from penstock.testing.scrubbing import Scrubber, body_content, body_record, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BOUNDARY: Final = re.compile(r"boundary=\"?([^\";,]+)")
_MAX_BODY_CHARS: Final = 200
_MAX_DIFFERENCES: Final = 3
_SCHEMES: Final = ("http://", "https://")
_LIBRARY_HEADERS: Final = frozenset(
    ("accept-encoding", "connection", "content-length", "transfer-encoding", "user-agent")
)

RequestKey = tuple[str, str, str]
"""Method, canonical URL and canonical body."""


class Tape:
    """The exchanges of a cassette, and the folder that all processes of a test share.

    In the folder each process writes the exchanges that it records, and a mark for each that it replays. It
    is pickled with the tasks of executors.
    """

    def __init__(
        self,
        *,
        name: str,
        folder: str,
        exchanges: Sequence[Mapping[str, Any]] | None,
        repeats: bool = False,
        hidden: Sequence[str] = (),
        visible: Sequence[str] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        """`exchanges` are replayed; None records."""
        self.name, self.folder, self.exchanges, self.repeats = name, folder, exchanges, repeats
        self.hidden, self.visible, self.secrets = tuple(hidden), tuple(visible), tuple(secrets)

    def scrubber(self, secrets: Sequence[str] = ()) -> Scrubber:
        """Return a scrubber with the options of the cassette; registers the secrets."""
        return Scrubber(hidden=self.hidden, visible=self.visible, secrets=(*self.secrets, *secrets))

    def recorded(self) -> list[dict[str, Any]]:
        """Return the exchanges that all processes have recorded, in the order of the requests."""
        return [
            json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(self.folder).glob("*.json"))
        ]

    def unused(self) -> list[Mapping[str, Any]]:
        """Return the exchanges that no process has replayed."""
        marks = {path.stem for path in Path(self.folder).glob("*.used")}
        return [exchange for number, exchange in enumerate(self.exchanges or ()) if str(number) not in marks]


@contextmanager
def intercepted_requests(tape: Tape, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Let the requests of all sessions of `requests` in this process be recorded or replayed."""
    if not Path(tape.folder).is_dir():
        raise UsageError(
            f"{tape.folder} of the cassette {tape.name} does not exist on this executor",
            hint="test with a local Spark, or set TMPDIR to a folder that driver and executors share",
        )
    scrubber = tape.scrubber(secrets)
    original = requests.Session.get_adapter
    player = None if tape.exchanges is None else _Player(tape, tape.exchanges, scrubber)

    def get_adapter(self: requests.Session, url: str) -> BaseAdapter:
        if not url.lower().startswith(_SCHEMES):
            return original(self, url)
        return player or _RecordingAdapter(tape, scrubber, original(self, url))

    requests.Session.get_adapter = get_adapter  # type: ignore[method-assign]  # all sessions, also of users
    try:
        yield
    finally:
        requests.Session.get_adapter = original  # type: ignore[method-assign]  # as above


class _RecordingAdapter(BaseAdapter):
    """Sends requests by the adapter of the session, and records them."""

    def __init__(self, tape: Tape, scrubber: Scrubber, adapter: BaseAdapter) -> None:
        super().__init__()
        self._tape, self._scrubber, self._adapter = tape, scrubber, adapter

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request; return its response, read completely."""
        content = _request_content(request)
        started = time.time_ns()
        response = self._adapter.send(request, *args, **kwargs)
        exchange: dict[str, Any] = {
            "request": {
                "method": str(request.method),
                "url": str(request.url),
                "headers": _recorded_headers(request),
            },
            "response": {
                "status": response.status_code,
                "reason": response.reason,
                "headers": dict(response.headers),
            },
        }
        for message, body in (("request", content), ("response", response.content)):
            if (record := body_record(body)) is not None:
                exchange[message]["body"] = record
        path = Path(self._tape.folder) / f"{started:020d}-{uuid.uuid4().hex}.json"
        path.write_text(json.dumps(self._scrubber.exchange(exchange)), encoding="utf-8")
        original = getattr(response.raw, "_original_response", None)
        return _build_response(request, exchange["response"], response.content, original)

    def close(self) -> None:
        """Close nothing: the adapter belongs to the session."""


class _Player(BaseAdapter):
    """Answers requests with recorded responses."""

    def __init__(self, tape: Tape, exchanges: Sequence[Mapping[str, Any]], scrubber: Scrubber) -> None:
        super().__init__()
        self._tape, self._exchanges, self._scrubber = tape, exchanges, scrubber
        self._keys = [recorded_key(exchange["request"]) for exchange in exchanges]
        self._plain: dict[RequestKey, list[int]] = {}
        self._masked: list[tuple[int, str, re.Pattern[str], re.Pattern[str]]] = []
        for number, (method, url, body) in enumerate(self._keys):
            if MASK in url or MASK in body:
                patterns = _pattern(url, r"[^&/?]*"), _pattern(body, ".*")
                self._masked.append((number, method, *patterns))
            else:
                self._plain.setdefault((method, url, body), []).append(number)

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Return the first response that was recorded for an equal request and is not used yet."""
        key = (
            str(request.method),
            canonical_url(str(request.url)),
            _canonical_body(body_record(_request_content(request))),
        )
        numbers = self._equal_requests(key)
        number = next(filter(self._take, numbers), None)
        if number is None and numbers and self._tape.repeats:
            number = numbers[-1]
        if number is None:
            raise self._error(key, len(numbers))
        recorded = self._exchanges[number]["response"]
        response = _build_response(request, recorded, body_content(recorded.get("body")))
        response.is_replayed = True  # type: ignore[attr-defined]  # read by RetrySession
        return response

    def close(self) -> None:
        """Close nothing: no connection is open."""

    def _equal_requests(self, key: RequestKey) -> list[int]:
        method, url, body = key
        masked = (
            number
            for number, recorded_method, url_pattern, body_pattern in self._masked
            if recorded_method == method and url_pattern.fullmatch(url) and body_pattern.fullmatch(body)
        )
        return sorted((*self._plain.get(key, ()), *masked))

    def _take(self, number: int) -> bool:
        """Mark a response as used; False if any process has done it."""
        try:
            os.close(os.open(f"{self._tape.folder}/{number}.used", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def _error(self, key: RequestKey, count: int) -> RequestNotRecorded:
        key = (key[0], self._scrubber.url(key[1]), self._scrubber.text(key[2]))
        request = f"{key[0]} {key[1]}"
        if count:
            return RequestNotRecorded(
                cassette=self._tape.name, request=request, nearest=None, recorded_count=count
            )
        texts = {_key_text(recorded): recorded for recorded in self._keys}
        nearest = next(iter(difflib.get_close_matches(_key_text(key), texts, n=1, cutoff=0)), None)
        text = None if nearest is None else _nearest_text(texts[nearest], key)
        return RequestNotRecorded(cassette=self._tape.name, request=request, nearest=text, recorded_count=0)


def recorded_key(request: Mapping[str, Any]) -> RequestKey:
    """Return method, URL and body of a recorded request, as they are compared."""
    return request["method"], canonical_url(request["url"]), _canonical_body(request.get("body"))


def _canonical_body(body: Mapping[str, Any] | None) -> str:
    match body:
        case None:
            return ""
        case {"json": document}:
            return json.dumps(document, sort_keys=True)
        case _:
            return str(next(iter(body.values())))


def _pattern(text: str, wildcard: str) -> re.Pattern[str]:
    """Return a pattern in which a mask matches any value."""
    return re.compile(re.escape(text).replace(re.escape(MASK), wildcard), re.DOTALL)


def _key_text(key: RequestKey) -> str:
    return f"{key[0]} {key[1]} {key[2][:_MAX_BODY_CHARS]}"


def _nearest_text(recorded: RequestKey, key: RequestKey) -> str:
    """Return a recorded request, with its differences from a request of the same endpoint."""
    text = f"{recorded[0]} {recorded[1]}"
    if recorded[0] != key[0] or _endpoint(recorded[1]) != _endpoint(key[1]):
        return text
    old, new = (dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)) for url in (recorded[1], key[1]))
    differences = [
        f"{name} is {new.get(name, 'missing')}, recorded: {old.get(name, 'none')}"
        for name in sorted({*old, *new})
        if old.get(name) not in {new.get(name), MASK}
    ]
    if recorded[2] != key[2]:
        differences.append(
            f"the body is {key[2][:_MAX_BODY_CHARS]!r}, recorded: {recorded[2][:_MAX_BODY_CHARS]!r}"
        )
    return f"{text} ({'; '.join(differences[:_MAX_DIFFERENCES])})"


def _endpoint(url: str) -> str:
    return url.partition("?")[0]


def _request_content(request: requests.PreparedRequest) -> bytes:
    """Return the body of a request, which can still be sent; a random boundary of its parts is replaced."""
    body: Any = request.body
    if body is None:
        return b""
    if hasattr(body, "read"):
        position = body.tell()
        content = body.read()
        body.seek(position)
    elif isinstance(body, (bytes, str)):
        content = body
    else:
        content = request.body = b"".join(body)
    content = content.encode() if isinstance(content, str) else bytes(content)
    boundary = _BOUNDARY.search(_content_type(request))
    return content.replace(boundary[1].encode(), b"boundary") if boundary else content


def _content_type(request: requests.PreparedRequest) -> str:
    value: Any = request.headers.get("Content-Type") or ""
    return value.decode() if isinstance(value, bytes) else str(value)


def _recorded_headers(request: requests.PreparedRequest) -> dict[str, str]:
    """Return the headers, without those that the library or the connection adds."""
    # Signers may set bytes.
    values: Mapping[str, Any] = request.headers
    headers = {
        name: value.decode() if isinstance(value, bytes) else str(value) for name, value in values.items()
    }
    return {
        name: _BOUNDARY.sub("boundary=boundary", value)
        for name, value in headers.items()
        if name.lower() not in _LIBRARY_HEADERS and value != "*/*"
    }


def _build_response(
    request: requests.PreparedRequest, recorded: Mapping[str, Any], content: bytes, original: Any = None
) -> requests.Response:
    """Return the response as an adapter builds it; the content is already decoded."""
    headers = HTTPHeaderDict(
        (name, value)
        for name, value in recorded["headers"].items()
        if name.lower() not in {"content-encoding", "content-length", "transfer-encoding"}
    )
    raw = HTTPResponse(
        BytesIO(content),
        headers=headers,
        status=recorded["status"],
        reason=recorded["reason"],
        preload_content=False,
        original_response=original,
        request_method=request.method,
    )
    return HTTPAdapter().build_response(request, raw)
