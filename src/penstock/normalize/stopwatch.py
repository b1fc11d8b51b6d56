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

    def __init__(self, on_step: Callable[[str], None] | None = None) -> None:
        """`tell` hears of every step that begins."""
        self._seconds: dict[str, float] = {}
        self._on_step = on_step

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Count the time of a block."""
        if self._on_step is not None:
            self._on_step(step)
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
