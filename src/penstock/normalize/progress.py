"""Progress of normalization: what a collector shows of each table, and how long each step takes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.interfaces.progress import TABLES
from penstock.normalize.report import StepReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.interfaces.progress import Collector


class TableProgress:
    """The states of root tables, shown by a collector: waiting, the current step, done with nested tables."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._current_root: str | None = None
        self._written_tables: dict[str, None] = {}

    def queue(self, roots: Iterable[str]) -> None:
        """Show the tables that are to be normalized."""
        names = dict.fromkeys(roots)
        self._collector.update(TABLES, inc=0, total=len(names))
        for name in names:
            self._collector.mark(name, "waiting")

    def begin(self, root: str) -> None:
        """Make a table the current one."""
        self._current_root, self._written_tables = root, {}

    def step(self, name: str) -> None:
        """Show the step of the current table, if there is one."""
        if self._current_root is not None:
            self._collector.mark(self._current_root, name)

    def add_rows(self, counts: Mapping[str, int | None]) -> None:
        """Add written rows of tables; None where only the load will count them."""
        for table, rows in counts.items():
            self._written_tables[table] = None
            self._collector.update(table, inc=rows or 0)

    def end(self) -> None:
        """Show the current table as done, and all tables that were written with it."""
        if self._current_root is None:
            return
        tables = dict.fromkeys((self._current_root, *self._written_tables))
        for table in tables:
            self._collector.mark(table, "done")
        self._current_root = None
        # The nested tables are not in the total before.
        self._collector.update(TABLES, inc=len(tables), inc_total=len(tables) - 1)


class Stopwatch:
    """The seconds of each step, summed over all tables, in the order of their first use."""

    def __init__(self, on_step: Callable[[str], None] | None = None) -> None:
        """`on_step` is called with the name of each step that begins."""
        self._seconds: dict[str, float] = {}
        self._on_step = on_step

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        if self._on_step is not None:
            self._on_step(step)
        started = time.monotonic()
        try:
            yield
        finally:
            self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started

    def steps(self, sizes: Mapping[str, int]) -> tuple[StepReport, ...]:
        """Return all steps, with the bytes that they wrote."""
        return tuple(
            StepReport(name=name, seconds=seconds, bytes=sizes.get(name, 0))
            for name, seconds in self._seconds.items()
        )
