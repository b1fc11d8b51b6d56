"""Ids of packages and job files."""

from __future__ import annotations

import hashlib
import threading
import time

_lock = threading.Lock()
_last = 0.0


def create_load_id() -> str:
    """The clock as text; later calls in a process give later ids, and ids sort by time as text.

    >>> create_load_id() < create_load_id()
    True
    """
    global _last  # noqa: PLW0603 - ids must grow across all threads of the process
    with _lock:
        _last = max(time.time(), _last + 1e-6)
        return f"{_last:.6f}"


def file_id(*parts: str) -> str:
    """Ten hexadecimal digits that depend on nothing but `parts`.

    >>> file_id("1", "items")
    '7c2a5a4b5d'
    """
    return hashlib.shake_128("\x1f".join(parts).encode()).hexdigest(5)
