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
    """The clock as text; later calls in a process give later ids, and ids sort by time as text.

    The clock of this machine may be behind that of another one: an id is also later than the one `after`
    which it comes, where that is of a clock.

    >>> create_load_id() < create_load_id()
    True
    >>> create_load_id(after="4102444800.5")
    '4102444800.500001'
    """
    global _last  # noqa: PLW0603 - ids must grow across all threads of the process
    with _lock:
        _last = max(time.time_ns() // 1000, _last + 1)
        # What stands in the future here is no matter of other pipelines.
        moment = max(_last, _microseconds(after) + 1)
    seconds, microseconds = divmod(moment, 1_000_000)
    return f"{seconds}.{microseconds:06d}"


def _microseconds(load_id: str | None) -> int:
    found = _CLOCK_ID.fullmatch(load_id or "")
    return int(found[1]) * 1_000_000 + int(f"{found[2]:0<6}"[:6]) if found else 0


def file_id(*parts: str) -> str:
    """Ten hexadecimal digits that depend on nothing but `parts`.

    >>> file_id("1", "items")
    '323388c50b'
    """
    return hashlib.shake_128("\x1f".join(parts).encode()).hexdigest(5)
