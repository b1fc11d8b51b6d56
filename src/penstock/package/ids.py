"""Ids of packages and job files."""

from __future__ import annotations

import hashlib
import threading
import time

_lock = threading.Lock()
_last = 0


def create_load_id() -> str:
    """The clock as text; later calls in a process give later ids, and ids sort by time as text.

    >>> create_load_id() < create_load_id()
    True
    """
    global _last  # noqa: PLW0603 - ids must grow across all threads of the process
    with _lock:
        _last = max(time.time_ns() // 1000, _last + 1)
        seconds, microseconds = divmod(_last, 1_000_000)
    return f"{seconds}.{microseconds:06d}"


def file_id(*parts: str) -> str:
    """Ten hexadecimal digits that depend on nothing but `parts`.

    >>> file_id("1", "items")
    '323388c50b'
    """
    return hashlib.shake_128("\x1f".join(parts).encode()).hexdigest(5)
