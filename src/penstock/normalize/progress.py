"""Tells a collector what becomes of the tables of a package while it is normalized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.interfaces.progress import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.interfaces.progress import Collector


class TableProgress:
    """Root tables wait, are worked at, and are done with all that is nested in them."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._current_root: str | None = None
        self._written_tables: dict[str, None] = {}

    def queue(self, roots: Iterable[str]) -> None:
        """These are to come."""
        names = dict.fromkeys(roots)
        self._collector.update(TABLES, inc=0, total=len(names))
        for name in names:
            self._collector.mark(name, "waiting")

    def begin(self, root: str) -> None:
        """This one is worked at from now on."""
        self._current_root, self._written_tables = root, {}

    def step(self, name: str) -> None:
        """What is done to it now."""
        if self._current_root is not None:
            self._collector.mark(self._current_root, name)

    def add_rows(self, counts: Mapping[str, int | None]) -> None:
        """Rows of some tables were written; None where nobody has counted them yet."""
        for table, rows in counts.items():
            self._written_tables[table] = None
            self._collector.update(table, inc=rows or 0)

    def end(self) -> None:
        """It is done, and so is everything that came of it."""
        if self._current_root is None:
            return
        tables = dict.fromkeys((self._current_root, *self._written_tables))
        for table in tables:
            self._collector.mark(table, "done")
        self._current_root = None
        # Nobody knew of the nested ones before.
        self._collector.update(TABLES, inc=len(tables), inc_total=len(tables) - 1)
