"""Collectors that users choose by name or make: `penstock.progress`."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, TextIO

from penstock.errors import UsageError
from penstock.interfaces.progress import Collector

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Collector", "log", "null"]


class log(Collector):  # noqa: N801 - users write `progress=penstock.progress.log(5)`
    """Writes a line every `log_period` seconds: each count, and what came per second since the step began.

    `logger` is a stream, or a logger that gets the lines with `log_level`.

    >>> clock = iter(range(100)).__next__
    >>> lines = log(1.0, logger=sys.stdout, clock=clock)
    >>> with lines("extract of shop"):
    ...     lines.update("orders", inc=2_000)
    extract of shop: orders 2,000 (1,000/s)
    extract of shop: orders 2,000 (667/s), done in 4 s
    """

    def __init__(
        self,
        log_period: float = 1.0,
        logger: TextIO | logging.Logger | None = None,
        log_level: int = logging.INFO,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._period, self._logger, self._level, self._clock = log_period, logger, log_level, clock
        self._begun = self._last = 0.0
        self._counts: dict[str, tuple[int, int | None]] = {}

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Count, and say it when the time has come."""
        key = f"{name} {label}" if label else name
        count, most = self._counts.get(key, (0, None))
        most = total if total is not None else most
        self._counts[key] = count + inc, (most or 0) + inc_total if inc_total else most
        if message is not None:
            self._write(f"{key}: {message}")
        now = self._clock()
        if now - self._last >= self._period:
            self._last = now
            self._write(self._told())

    def _start(self, step: str) -> None:
        super()._start(step)
        self._counts.clear()
        self._begun = self._last = self._clock()

    def _stop(self) -> None:
        told, took = self._told(), self._clock() - self._begun
        self._write(f"{told}, done in {took:.0f} s" if told else f"done in {took:.0f} s")
        super()._stop()

    def _told(self) -> str:
        seconds = max(self._clock() - self._begun, 1e-9)
        return ", ".join(
            f"{name} {count:,}{'' if most is None else f' of {most:,}'} ({count / seconds:,.0f}/s)"
            for name, (count, most) in self._counts.items()
        )

    def _write(self, text: str) -> None:
        line = f"{self.step}: {text}"
        if isinstance(self._logger, logging.Logger):
            self._logger.log(self._level, line)
        else:
            print(line, file=self._logger or sys.stdout, flush=True)


def null() -> Collector:
    """A collector that says nothing: what a pipeline has unless it is given another."""
    return Collector()


def collector_of(said: str | Collector | None) -> Collector:
    """The collector that a user named, or gave.

    >>> type(collector_of("log")).__name__
    'log'
    """
    if isinstance(said, Collector):
        return said
    if said is None:
        return null()
    if said == "log":
        return log()
    raise UsageError(f"there is no progress {said!r}", hint='use "log", or a penstock.progress.Collector')
