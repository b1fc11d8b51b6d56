"""An HTTP proxy before the S3 gateway that injects faults into requests by a plan.

It passes heads and bodies on as they come, so that signatures stay right, and keeps connections open. A plan
is asked once for each request and names a fault, or None. What was done is counted by fault and method.
"""

from __future__ import annotations

import random
import re
import socket
import struct
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import IO, TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Fault = Literal[
    "500",  # refused, not done
    "503",  # refused with SlowDown, not done
    "412",  # not done, though the name is free: only for conditional puts
    "cut",  # the connection ends before anything is done
    "lost",  # done, but the connection ends instead of a reply
    "torn",  # done, but the connection ends in the middle of the reply
    "500 done",  # done, but the reply is an error
    "412 done",  # done, but the reply is that the name was taken: only for conditional puts
    "undeleted",  # 200, but not one object was deleted: only for deletes of many
]

_BLOCK = 1 << 16
_ERROR = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{}</Code><Message>{}</Message>{}</Error>'
_REPLIES = {
    "500": ("Internal Server Error", _ERROR.format("InternalError", "We encountered an internal error.", "")),
    "503": ("Slow Down", _ERROR.format("SlowDown", "Please reduce your request rate.", "")),
    "412": (
        "Precondition Failed",
        _ERROR.format("PreconditionFailed", "It did not hold.", "<Condition>If-None-Match</Condition>"),
    ),
}
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Head:
    """The head of a request or a reply, raw and parsed."""

    raw: bytes
    words: tuple[str, ...]
    headers: Mapping[str, str]

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def ends(self) -> bool:
        """Whether the connection closes after this message."""
        return self.headers.get("connection", "").lower() == "close"


@dataclass(frozen=True)
class Request:
    """A request as a plan sees it."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def is_conditional(self) -> bool:
        """Whether the request is a put that must create an object."""
        return self.method == "PUT" and "if-none-match" in self.headers

    @property
    def is_mass_delete(self) -> bool:
        return self.method == "POST" and re.search(r"[?&]delete\b", self.target) is not None

    def allows(self, fault: Fault) -> bool:
        """Return whether a fault can happen to a request."""
        match fault:
            case "412" | "412 done":
                return self.is_conditional
            case "undeleted":
                return self.is_mass_delete
            case _:
                return True


class Proxy(ThreadingTCPServer):
    """A proxy that listens at `url`. Without a plan everything passes."""

    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        address = urlsplit(upstream)
        self.upstream = (address.hostname or "", address.port or 80)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.plan: Callable[[Request], Fault | None] | None = None
        self.done: Counter[tuple[str, str]] = Counter()
        """Counts by fault and method; requests without a fault are counted as `passed`."""
        self.connections: Counter[str] = Counter()
        """Numbers of connections that were `opened`, and of those that `broke`."""
        self._lock = threading.Lock()

    def count(self, what: str) -> None:
        with self._lock:
            self.connections[what] += 1

    def decide(self, request: Request) -> Fault | None:
        with self._lock:
            fault = self.plan(request) if self.plan else None
            if fault is not None and not request.allows(fault):
                fault = None
            self.done[fault or "passed", request.method] += 1
            return fault

    @property
    def faults(self) -> int:
        return sum(count for (fault, _), count in self.done.items() if fault != "passed")

    def report(self) -> str:
        """Return the counts in one line."""
        kinds: dict[str, list[str]] = {}
        for (fault, method), count in sorted(self.done.items()):
            kinds.setdefault(fault, []).append(f"{method} {count}")
        done = [f"{kind}: {', '.join(methods)}" for kind, methods in kinds.items()]
        of = self.connections
        return "; ".join([*done, f"{of['broke']} of {of['opened']} connections broke"])

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients that disconnect early."""


@contextmanager
def faulty(upstream: str) -> Iterator[Proxy]:
    """Run a proxy during a block."""
    proxy = Proxy(upstream)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


def seeded(seed: int, shares: Mapping[Fault, float]) -> Callable[[Request], Fault | None]:
    """Return a plan with each fault for its share of the requests that it can happen to."""
    dice = random.Random(seed)

    def plan(request: Request) -> Fault | None:
        possible = {fault: share for fault, share in shares.items() if request.allows(fault)}
        drawn = dice.random()
        for fault, share in possible.items():
            drawn -= share
            if drawn < 0:
                return fault
        return None

    return plan


def aimed(
    fault: Fault, at: Callable[[Request], bool] = lambda _: True, *, times: int = 1
) -> Callable[[Request], Fault | None]:
    """Return a plan with one fault for the first requests that match; all others pass."""
    rest = [times]

    def plan(request: Request) -> Fault | None:
        if rest[0] == 0 or not request.allows(fault) or not at(request):
            return None
        rest[0] -= 1
        return fault

    return plan


class _Connection(StreamRequestHandler):
    """One connection of a client, with a separate one to the gateway."""

    disable_nagle_algorithm = True
    rbufsize = _BLOCK

    def handle(self) -> None:
        proxy = cast("Proxy", self.server)
        self._there = socket.create_connection(proxy.upstream)
        self._there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = cast("IO[bytes]", self._there.makefile("rb", _BLOCK))
        self._asked = cast("IO[bytes]", self.rfile)
        proxy.count("opened")
        try:
            while (head := _read_head(self._asked)) and self._serve(proxy, head):
                pass
        except ConnectionError:
            proxy.count("broke")
        finally:
            self._answers.close()
            self._there.close()

    def _serve(self, proxy: Proxy, head: Head) -> bool:
        """Handle one request; return whether the connection may be used again."""
        request = Request(head.words[0], head.words[1], head.headers)
        fault = proxy.decide(request)
        match fault:
            case None:
                return self._pass_on(head, request.method)
            case "cut":
                return self._cut()
            case "500" | "503" | "412" | "undeleted":
                body = self._swallow(head)
                return self._refuse(fault, request.method, body) and not head.ends
            case "lost" | "torn" | "500 done" | "412 done":
                reply = self._do(head, request.method)
                if fault in {"lost", "torn"}:
                    self.wfile.write(reply[: len(reply) // 2] if fault == "torn" else b"")
                    return self._cut()
                return self._refuse(fault.split()[0], request.method, b"") and not head.ends

    def _pass_on(self, head: Head, method: str) -> bool:
        """Forward the request and return the reply; a reply before the body ends the connection."""
        self._there.sendall(head.raw)
        if "expect" in head.headers:
            interim = self._reply_head()
            self.wfile.write(interim.raw)
            if interim.words[1] != "100":
                _copy_body(interim, self._answers, self.wfile.write, method=method)
                return False
        _copy_body(head, self._asked, self._there.sendall)
        reply = self._reply_head()
        self.wfile.write(reply.raw)
        return _copy_body(reply, self._answers, self.wfile.write, method=method) and not reply.ends

    def _do(self, head: Head, method: str) -> bytes:
        """Forward the request to the gateway, and discard its reply."""
        self._there.sendall(head.raw)
        reply = self._reply_head() if "expect" in head.headers else None
        if reply is None or reply.words[1] == "100":
            if reply is not None:
                self.wfile.write(reply.raw)
            _copy_body(head, self._asked, self._there.sendall)
            reply = self._reply_head()
        remaining = [reply.raw]
        _copy_body(reply, self._answers, remaining.append, method=method)
        return b"".join(remaining)

    def _swallow(self, head: Head) -> bytes:
        """Read the body of a request that is not forwarded, so that its client can read the reply."""
        if "expect" in head.headers:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        remaining: list[bytes] = []
        _copy_body(head, self._asked, remaining.append)
        return b"".join(remaining)

    def _refuse(self, kind: str, method: str, body: bytes) -> bool:
        if kind == "undeleted":
            keys = re.findall(r"<Key>.*?</Key>", body.decode())
            failed = "".join(f"<Error>{key}<Code>InternalError</Code></Error>" for key in keys)
            kind, phrase, text = "200", "OK", f"<DeleteResult>{failed}</DeleteResult>"
        else:
            phrase, text = _REPLIES[kind]
        length = f"Content-Type: application/xml\r\nContent-Length: {len(text)}"
        head = f"HTTP/1.1 {kind} {phrase}\r\n{length}\r\n\r\n"
        self.wfile.write((head + ("" if method == "HEAD" else text)).encode())
        return True

    def _cut(self) -> bool:
        """Close the connection with a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        return False

    def _reply_head(self) -> Head:
        head = _read_head(self._answers)
        if head is None:
            raise ConnectionError("the gateway has gone")
        return head


def _read_head(stream: IO[bytes]) -> Head | None:
    lines = []
    while (line := stream.readline()) not in {b"", b"\r\n"}:
        lines.append(line)
    if not lines or line == b"":
        return None
    words = lines[0].decode("latin-1").split(maxsplit=2)
    pairs = (each.decode("latin-1").partition(":") for each in lines[1:])
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Head(b"".join(lines) + b"\r\n", tuple(words), headers)


def _copy_body(
    head: Head, source: IO[bytes], sink: Callable[[bytes], object], *, method: str | None = None
) -> bool:
    """Copy the body after a head; `method` is that of the request if the head is a reply.

    Return False if the body ends with the connection.
    """
    if method is not None and (method == "HEAD" or head.words[1] in {"204", "304"}):
        return True
    if head.is_chunked:
        while (size := int((line := source.readline()).split(b";")[0], 16)) > 0:
            sink(line)
            _copy(source, size + 2, sink)
        sink(line)
        while (trailer := source.readline()) not in {b"", b"\r\n"}:
            sink(trailer)
        sink(trailer)
        return True
    length = head.headers.get("content-length")
    if length is None and method is not None:
        while block := source.read(_BLOCK):
            sink(block)
        return False
    _copy(source, int(length or 0), sink)
    return True


def _copy(source: IO[bytes], size: int, sink: Callable[[bytes], object]) -> None:
    rest = size
    while rest > 0:
        block = source.read(min(rest, _BLOCK))
        if not block:
            raise ConnectionError("it ended in the middle of a body")
        sink(block)
        rest -= len(block)
