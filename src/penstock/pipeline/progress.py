"""Collectors that users choose by name or make: `penstock.progress`.

By default a run draws a live view where somebody looks at a terminal and `rich` is installed, and keeps quiet
everywhere else.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces.progress import STEP_COUNTERS, Collector
from penstock.pipeline import late_imports
from penstock.pipeline.bars import alive_progress, enlighten, tqdm

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Collector", "alive_progress", "enlighten", "log", "null", "rich", "tqdm"]


class log(Collector):  # noqa: N801 - users write `progress=penstock.progress.log(5)`
    """Writes a line every `log_period` seconds: each count, and what came per second since the step began.

    `logger` is a stream, or a logger that gets the lines with `log_level`. `dump_system_stats` adds the
    processor time of this process.

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
        logger: IO[str] | logging.Logger | None = None,
        log_level: int = logging.INFO,
        dump_system_stats: bool = False,  # noqa: FBT001, FBT002 - the order is dlt's
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._period, self._logger, self._level, self._clock = log_period, logger, log_level, clock
        self._started_at = self._written_at = 0.0
        self._with_stats, self._cpu_at_start = dump_system_stats, 0.0
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
        if now - self._written_at >= self._period:
            self._written_at = now
            self._write(self._counts_text())

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Say what went wrong, at once; how things stand otherwise is seen by their counts."""
        del size
        if message is not None:
            self._write(f"{name} {state}: {message}")

    def _start(self, step: str) -> None:
        super()._start(step)
        self._counts.clear()
        self._started_at = self._written_at = self._clock()
        self._cpu_at_start = time.process_time()

    def _stop(self) -> None:
        told, took = self._counts_text(), self._clock() - self._started_at
        end = f"{'stopped after' if self.has_failed else 'done in'} {took:.0f} s"
        self._write(f"{told}, {end}" if told else end)
        super()._stop()

    def _counts_text(self) -> str:
        seconds = max(self._clock() - self._started_at, 1e-9)
        counts = [
            f"{name} {count:,}{'' if most is None else f' of {most:,}'}"
            + ("" if name in STEP_COUNTERS else f" ({count / seconds:,.0f}/s)")
            for name, (count, most) in self._counts.items()
        ]
        stats = (
            [f"{time.process_time() - self._cpu_at_start:.0f} s of processor time"]
            if self._with_stats
            else []
        )
        return ", ".join([*counts, *stats])

    def _write(self, text: str) -> None:
        line = f"{self.step}: {text}"
        if isinstance(self._logger, logging.Logger):
            self._logger.log(self._level, line)
        else:
            print(line, file=self._logger or sys.stdout, flush=True)


def null() -> Collector:
    """A collector that says nothing; by name, `progress="none"`."""
    return Collector()


def rich(console: Any = None, refresh_per_second: float = 4.0) -> Collector:
    """The live view: resources, tables and jobs as they stand, redrawn while a step goes on.

    `console` is one of the library rich. Where it is no terminal, lines are written in place of it.

    >>> from rich.console import Console
    >>> rich(Console(file=sys.stdout, force_terminal=False)).__class__.__name__
    'log'
    """
    made = late_imports.live_view.LiveCollector(console, refresh_per_second)
    return made if made.can_draw else log(logger=made.console.file)


def collector_of(progress: str | Collector | None) -> Collector:
    """The collector that a user named, or gave; None leaves it to where the run is watched.

    >>> type(collector_of("log")).__name__
    'log'
    """
    match progress:
        case Collector():
            return progress
        case None:
            return rich() if _is_interactive_terminal() else null()
        case "none" | "null":
            return null()
        case "log":
            return log()
        case "rich":
            return rich()
        case "tqdm":
            return tqdm()
        case "enlighten":
            return enlighten()
        case "alive_progress":
            return alive_progress()
        case _:
            raise UsageError(
                f"there is no progress {progress!r}",
                hint='use "log", "rich", "tqdm", "enlighten", "alive_progress" or "none", '
                "or a penstock.progress.Collector",
            )


def _is_interactive_terminal() -> bool:
    """Whether somebody looks at a terminal that can draw, and rich is there to draw with."""
    try:
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
    except (AttributeError, ValueError):  # whatever was put in its place, or closed
        return False
    return is_terminal and os.environ.get("TERM") != "dumb" and find_spec("rich") is not None
