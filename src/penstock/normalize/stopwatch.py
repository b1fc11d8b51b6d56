"""How long the steps of normalization take."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.normalize.report import StepReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Stopwatch:
    """Adds up the seconds of each step, in the order in which steps first came."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """`tell` hears of every step that begins."""
        self._seconds: dict[str, float] = {}
        self._tell = tell

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Count the time of a block."""
        if self._tell is not None:
            self._tell(step)
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started

    def steps(self, sizes: Mapping[str, int]) -> tuple[StepReport, ...]:
        """All steps, with the bytes that they wrote."""
        return tuple(
            StepReport(name=name, seconds=seconds, bytes=sizes.get(name, 0))
            for name, seconds in self._seconds.items()
        )
