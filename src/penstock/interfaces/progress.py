"""Who wants to know how far a run is: a collector is told now and then, not for every row."""

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
"""Counts of a whole step, with a total. All other names are those of resources and tables, and count rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkStage:
    """A stage of Spark that is under way: how many of its tasks are done."""

    stage_id: int
    tasks: int
    done: int


class Collector:
    """Is told of steps and of what they count. This one keeps quiet; others say it in their own way.

    A collector is called with the name of a step and used for its time:

    >>> collector = Collector()
    >>> with collector("extract of shop"):
    ...     collector.update("orders", inc=100)
    """

    step: str | None = None
    """The step that goes on, if one does."""
    has_failed: bool = False
    """Whether the step that ends just now ends with an error."""
    shows_stages: bool = False
    """Whether somebody looks at Spark's stages: they are asked for only then."""

    @contextmanager
    def __call__(self, step: str) -> Iterator[Self]:
        """Follow a step for the time of a block."""
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
        """Count something: `inc` more, of `total` where that is known."""

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Say how a resource or a table stands, in a word; `size` are its bytes, `message` is the reason."""

    def stages(self, found: Sequence[SparkStage]) -> None:
        """See the stages of Spark that are under way now; may be called by another thread."""

    def _start(self, step: str) -> None:
        self.step = step

    def _stop(self) -> None:
        self.step = None


class ThrottledProgress:
    """Tells a collector what has been added to some counts, at most so often."""

    __slots__ = ("_clock", "_collector", "_interval", "_next_report", "_reported")

    def __init__(
        self, collector: Collector, *, interval: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._collector, self._interval, self._clock = collector, interval, clock
        self._next_report, self._reported = 0.0, dict[str, int]()

    def report(self, counts: Mapping[str, int]) -> None:
        """Tell what is new, unless something was told just now."""
        if self._clock() >= self._next_report:
            self.report_now(counts)

    def report_now(self, counts: Mapping[str, int]) -> None:
        """Tell what is new."""
        self._next_report = self._clock() + self._interval
        for name, count in counts.items():
            more = count - self._reported.get(name, 0)
            if more > 0:
                self._reported[name] = count
                self._collector.update(name, inc=more)
