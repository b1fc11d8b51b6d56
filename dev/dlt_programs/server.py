"""A local HTTP server in place of the APIs on the internet.

Only the standard library and requests: both tools use it. A request to any other host goes to it, by a patch
of the adapter of requests; programs keep their addresses, and links in replies are those of the API.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from requests.adapters import HTTPAdapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True)
class Request:
    """A request as a driver answers it; `turn` counts the runs of the program from 1."""

    turn: int
    method: str
    host: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The document in the body."""
        return json.loads(self.body)

    @property
    def line(self) -> str:
        """The request in one line, without headers."""
        query = "&".join(f"{name}={value}" for name, value in sorted(self.query.items()))
        return f"{self.method} {self.host}{self.path}?{query} {self.body}"


@dataclass(frozen=True)
class Reply:
    """A reply: a JSON document, its status and headers."""

    document: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def page(rows: list[Any], start: int, size: int) -> tuple[list[Any], int | None]:
    """Return a page of rows, and the start of the next; None after the last.

    >>> page([1, 2, 3], 0, 2)
    ([1, 2], 2)
    >>> page([1, 2, 3], 2, 2)
    ([3], None)
    """
    end = start + size
    return rows[start:end], end if end < len(rows) else None


class LocalApi:
    """The server: it answers by a function, and notes the requests of the turn."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.turn = 1
        self.lines: list[str] = []
        self.faults: list[str] = []
        self._answer = answer
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self._server.server_address[1])

    def reply(self, request: Request) -> Reply:
        """Return the reply of the driver; an error of the driver is a fault of the whole run."""
        self.lines.append(request.line)
        try:
            return self._answer(request)
        except Exception as error:  # it would die unseen in the thread of the server
            self.faults.append(f"{request.line}: {error!r}")
            return Reply({"error": repr(error)}, 404)

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    api: LocalApi
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet: two would wait for each other

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        host, _, path = self.path.lstrip("/").partition("/")
        parts = urlsplit(f"/{path}")
        request = Request(
            turn=self.api.turn,
            method=self.command,
            host=host,
            path=parts.path,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers=dict(self.headers.items()),
            body=body,
        )
        reply = self.api.reply(request)
        text = json.dumps(reply.document).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET  # noqa: N815 - the name of the base class


@contextmanager
def local_api(answer: Callable[[Request], Reply]) -> Iterator[LocalApi]:
    """Run the server, with all requests of this process led to it."""
    api = LocalApi(answer)
    send = HTTPAdapter.send

    def send_to_server(adapter: HTTPAdapter, request: Any, *arguments: Any, **options: Any) -> Any:
        address = request.url
        parts = urlsplit(address)
        local = f"/{parts.netloc}{parts.path}"
        request.url = urlunsplit(("http", f"127.0.0.1:{api.port}", local, parts.query, ""))
        try:
            response = send(adapter, request, *arguments, **options)
        finally:
            request.url = address
        response.url = address
        return response

    HTTPAdapter.send = send_to_server  # type: ignore[method-assign, assignment]  # both tools use it
    try:
        yield api
    finally:
        HTTPAdapter.send = send  # type: ignore[method-assign]
        api.close()
