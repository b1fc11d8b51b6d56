"""A proxy before Postgres that loses connections at the COMMIT of a transaction."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

LostAt = Literal["before", "after"]
"""Whether the connection is lost before the server gets COMMIT, or after it, in place of the reply."""
_COMMIT = b"COMMIT\0"
_INSERT_LOAD = b'."_dlt_loads" ("load_id"'
_BLOCK = 1 << 16
_RESET = struct.pack("ii", 1, 0)


class LostCommits(ThreadingTCPServer):
    """A proxy that loses the connections of the commits that its two lists name, in their order."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.upstream = upstream
        self.of_loads: list[LostAt | None] = []
        """The commits of transactions that complete a load."""
        self.of_others: list[LostAt | None] = []
        self.lost = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def next_loss(self, *, is_load: bool) -> LostAt | None:
        planned = self.of_loads if is_load else self.of_others
        loss = planned.pop(0) if planned else None
        self.lost += loss is not None
        return loss


@contextmanager
def lost_commits(host: str, port: int) -> Iterator[LostCommits]:
    """Run a proxy during a block."""
    proxy = LostCommits((host, port))
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


class _Connection(BaseRequestHandler):
    request: socket.socket

    def handle(self) -> None:
        proxy = cast("LostCommits", self.server)
        with socket.create_connection(proxy.upstream) as server:
            threading.Thread(target=self._pass_replies, args=(server,), daemon=True).start()
            with suppress(OSError):
                self._pass_requests(proxy, server)
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # a close would wait for the thread that reads

    def _pass_requests(self, proxy: LostCommits, server: socket.socket) -> None:
        is_load = False
        while block := self.request.recv(_BLOCK):
            is_load |= _INSERT_LOAD in block
            # The client sends COMMIT alone, and waits for the reply.
            loss = proxy.next_loss(is_load=is_load) if block.endswith(_COMMIT) else None
            if loss == "after":
                self._is_lost = True
            if loss != "before":
                server.sendall(block)
            if loss is not None:
                if loss == "after":
                    self._replied.wait()
                self._cut()
                return

    def setup(self) -> None:
        self._is_lost, self._replied = False, threading.Event()

    def _pass_replies(self, server: socket.socket) -> None:
        with suppress(OSError):
            while block := server.recv(_BLOCK):
                if self._is_lost:
                    break
                self.request.sendall(block)
        self._replied.set()

    def _cut(self) -> None:
        """Close the connection with a reset."""
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.request.close()
