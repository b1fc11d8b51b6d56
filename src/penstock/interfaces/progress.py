"""Progress of a run: collectors, which are called at intervals and not for every row."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TABLES: Final = "Tables"
JOBS: Final = "Jobs"
STEP_COUNTERS: Final = frozenset((TABLES, JOBS))
"""Counters of a whole step, with a total. All other names are resources and tables and count rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkStage:
    """A running stage of Spark, with its tasks."""

    stage_id: int
    tasks: int
    done: int


class Collector:
    """Receives steps and their counts. This class ignores them; subclasses show them.

    A collector is called with the name of a step and is then a context manager:

    >>> collector = Collector()
    >>> with collector("extract of shop"):
    ...     collector.update("orders", inc=100)
    """

    step: str | None = None
    """The current step, if any."""
    has_failed: bool = False
    """Whether the step that ends now has raised an error."""
    shows_stages: bool = False
    """Whether the collector shows Spark's stages; otherwise they are not read."""

    @contextmanager
    def __call__(self, step: str) -> Iterator[Self]:
        """Follow a step within a block."""
        self.has_failed = False
        self._start(step)
        try:
            yield self
        except BaseException:
            self.has_failed = True
            raise
        finally:
            self._stop()

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Count: `inc` more, of `total` if known."""

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Set the state of a resource or table; `size` is in bytes, `message` is a reason."""

    def note(self, text: str) -> None:
        """Receive a fact about the run, such as that Spark is starting; also between steps."""

    def stages(self, running: Sequence[SparkStage]) -> None:
        """Receive the running stages of Spark; may be called by another thread."""

    def _start(self, step: str) -> None:
        self.step = step

    def _stop(self) -> None:
        self.step = None


class ThrottledProgress:
    """Reports counts to a collector at a minimum interval."""

    __slots__ = ("_clock", "_collector", "_interval", "_next_report", "_reported")

    def __init__(
        self, collector: Collector, *, interval: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._collector, self._interval, self._clock = collector, interval, clock
        self._next_report, self._reported = 0.0, dict[str, int]()

    def report(self, counts: Mapping[str, int]) -> None:
        """Report the increments, unless the interval has not passed."""
        if self._clock() >= self._next_report:
            self.report_now(counts)

    def report_now(self, counts: Mapping[str, int]) -> None:
        """Report the increments."""
        self._next_report = self._clock() + self._interval
        for name, count in counts.items():
            more = count - self._reported.get(name, 0)
            if more > 0:
                self._reported[name] = count
                self._collector.update(name, inc=more)
