"""Ids of packages and job files."""

from __future__ import annotations

import hashlib
import re
import threading
import time

_CLOCK_ID = re.compile(r"([0-9]{1,12})\.([0-9]+)")
_lock = threading.Lock()
_last = 0


def create_load_id(*, after: str | None = None) -> str:
    """Return the time as an id; ids increase within a process and sort by time as text.

    The clock of this machine may be behind that of another one: the id is also later than the id `after`, if
    that is a time.

    >>> create_load_id() < create_load_id()
    True
    >>> create_load_id(after="4102444800.5")
    '4102444800.500001'
    """
    global _last  # noqa: PLW0603 - ids must grow across all threads of the process
    with _lock:
        _last = max(time.time_ns() // 1000, _last + 1)
        # An `after` in the future must not affect other pipelines.
        moment = max(_last, _microseconds(after) + 1)
    seconds, microseconds = divmod(moment, 1_000_000)
    return f"{seconds}.{microseconds:06d}"


def _microseconds(load_id: str | None) -> int:
    match = _CLOCK_ID.fullmatch(load_id or "")
    return int(match[1]) * 1_000_000 + int(f"{match[2]:0<6}"[:6]) if match else 0


def file_id(*parts: str) -> str:
    """Return ten hexadecimal digits that depend only on `parts`.

    >>> file_id("1", "items")
    '323388c50b'
    """
    return hashlib.shake_128("\x1f".join(parts).encode()).hexdigest(5)
