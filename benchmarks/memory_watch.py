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
    result, is_over = Peak(), threading.Event()
    own = psutil.Process()
    machines = [child for child in own.children(recursive=True) if child.name() == "java"]

    def look() -> None:
        while not is_over.wait(0.1):
            result.python = max(result.python, own.memory_info().rss / _MIB)
            result.jvm = max(result.jvm, *(machine.memory_info().rss / _MIB for machine in machines))

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    yield result
    is_over.set()
    watch.join()
