"""The memory of a driver during a block: its Python and its JVM."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIB = 2**20


@dataclass(slots=True)
class Peak:
    """The peak memory in MiB."""

    python: float = 0
    jvm: float = 0


@contextmanager
def measured() -> Iterator[Peak]:
    """Measure this process and its JVM ten times a second."""
    found, is_over = Peak(), threading.Event()
    own = psutil.Process()
    machines = [child for child in own.children(recursive=True) if child.name() == "java"]

    def look() -> None:
        while not is_over.wait(0.1):
            found.python = max(found.python, own.memory_info().rss / _MIB)
            found.jvm = max(found.jvm, *(one.memory_info().rss / _MIB for one in machines))

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    yield found
    is_over.set()
    watch.join()
