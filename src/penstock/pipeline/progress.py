"""Collectors that show the progress of runs, chosen by name or created by users: `penstock.progress`.

By default a run draws a live view in an interactive terminal where `rich` is installed, and shows nothing
elsewhere.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any

from penstock.errors import MissingExtra, UsageError
from penstock.interfaces.progress import STEP_COUNTERS, Collector
from penstock.interfaces.progress import Collector as _Collector
from penstock.pipeline import late_imports

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Collector", "_Collector", "log", "null", "rich", "tqdm"]


class log(Collector):  # noqa: N801 - users write `progress=penstock.progress.log(5)`
    """Writes a line every `log_period` seconds: each count, and its rate since the step began.

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
        """Count, and write a line once the period is over."""
        key = f"{name} {label}" if label else name
        count, prior_total = self._counts.get(key, (0, None))
        total = prior_total if total is None else total
        self._counts[key] = count + inc, (total or 0) + inc_total if inc_total else total
        if message is not None:
            self._write(f"{key}: {message}")
        now = self._clock()
        if now - self._written_at >= self._period:
            self._written_at = now
            self._write(self._counts_text())

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Write a failure at once; other states are visible in the counts."""
        del size
        if message is not None:
            self._write(f"{name} {state}: {message}")

    def note(self, text: str) -> None:
        """Write a line at once."""
        self._write(text)

    def _start(self, step: str) -> None:
        super()._start(step)
        self._counts.clear()
        self._started_at = self._written_at = self._clock()
        self._cpu_at_start = time.process_time()

    def _stop(self) -> None:
        counts, seconds = self._counts_text(), self._clock() - self._started_at
        end = f"{'stopped after' if self.has_failed else 'done in'} {seconds:.0f} s"
        self._write(f"{counts}, {end}" if counts else end)
        super()._stop()

    def _counts_text(self) -> str:
        seconds = max(self._clock() - self._started_at, 1e-9)
        counts = [
            f"{name} {count:,}{'' if total is None else f' of {total:,}'}"
            + ("" if name in STEP_COUNTERS else f" ({count / seconds:,.0f}/s)")
            for name, (count, total) in self._counts.items()
        ]
        stats = (
            [f"{time.process_time() - self._cpu_at_start:.0f} s of processor time"]
            if self._with_stats
            else []
        )
        return ", ".join([*counts, *stats])

    def _write(self, text: str) -> None:
        line = text if self.step is None else f"{self.step}: {text}"
        if isinstance(self._logger, logging.Logger):
            self._logger.log(self._level, line)
        else:
            print(line, file=self._logger or sys.stdout, flush=True)


class tqdm(Collector):  # noqa: N801 - users write `progress=penstock.progress.tqdm(colour="green")`
    """A bar of tqdm for each counted name, or with `single_bar` one for all rows of a step.

    Arguments of tqdm can be given by name: `tqdm(colour="green")`.
    """

    def __init__(self, single_bar: bool = False, **tqdm_kwargs: Any) -> None:  # noqa: FBT001, FBT002 - dlt's
        self._tqdm, self._bar_kwargs = import_library("tqdm").tqdm, tqdm_kwargs
        self._single_bar = single_bar
        self._bars: dict[str, Any] = {}
        self._totals: dict[str, int] = {}

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Advance a bar; the first update of a name creates it."""
        key = f"{name} {label}" if label else name
        if message is not None:
            self._write(f"{key}: {message}")
        if not self._single_bar:
            self._advance(key, inc, total, inc_total)
        elif name not in STEP_COUNTERS:
            self._advance(self.step or "", inc)

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Write a failure; other states are visible in the bars."""
        del size
        if message is not None:
            self._write(f"{name} {state}: {message}")

    def note(self, text: str) -> None:
        """Write a line above the bars."""
        self._write(text)

    def _stop(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()
        self._totals.clear()
        super()._stop()

    def _advance(self, key: str, inc: int, total: int | None = None, inc_total: int | None = None) -> None:
        if total is not None or inc_total:
            self._totals[key] = (self._totals.get(key, 0) if total is None else total) + (inc_total or 0)
        if key not in self._bars:
            options = {"desc": key, "total": self._totals.get(key), "unit": "", "leave": False}
            self._bars[key] = self._tqdm(position=len(self._bars), **{**options, **self._bar_kwargs})
        bar = self._bars[key]
        if key in self._totals:
            bar.total = self._totals[key]
        bar.update(inc)
        bar.refresh()  # the next update may be much later

    def _write(self, message: str) -> None:
        self._tqdm.write(message, file=self._bar_kwargs.get("file"))


def import_library(name: str) -> Any:
    """Import a library; raise `MissingExtra` with the line that installs it where it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingExtra(extra=name, needed_for=f'progress="{name}"') from error


def null() -> Collector:
    """Return a collector that shows nothing; by name, `progress="none"`."""
    return Collector()


def rich(console: Any = None, refresh_per_second: float = 4.0) -> Collector:
    """Return the live view: resources, tables and jobs with their states, redrawn while a step runs.

    `console` is one of the library rich. If it is no terminal, lines are written instead.

    >>> from rich.console import Console
    >>> rich(Console(file=sys.stdout, force_terminal=False)).__class__.__name__
    'log'
    """
    live = late_imports.live_view.LiveCollector(console, refresh_per_second)
    return live if live.can_draw else log(logger=live.console.file)


def resolve_collector(progress: str | Collector | None) -> Collector:
    """Return the collector that a user named or created; None chooses by the terminal.

    >>> type(resolve_collector("log")).__name__
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
        case _:
            raise UsageError(
                f"there is no progress {progress!r}",
                hint='use "log", "rich", "tqdm" or "none", or a penstock.progress.Collector',
            )


def _is_interactive_terminal() -> bool:
    """Return whether standard output is a terminal that can draw, and rich is installed."""
    try:
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
    except (AttributeError, ValueError):  # replaced by another object, or closed
        return False
    return is_terminal and os.environ.get("TERM") != "dumb" and find_spec("rich") is not None
