"""Counts of what a load would change, for plans: no table is changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from penstock.interfaces.loadjob import LoadMark


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsealedLoad:
    """A normalized package that may become the next load."""

    job_paths: Mapping[str, str]
    """The addresses of the job files, by table: `read_job` opens them."""
    rows: Mapping[str, int | None]
    """The rows of each job, by table; None if they are not counted."""
    created_at: str
    """The timestamp of the load."""
    mark: LoadMark
    """The mark that the load would have if it was sealed now."""

    def with_only_tables(self, tables: Collection[str]) -> UnsealedLoad:
        """Return the part of the load that goes to some of its tables."""
        paths = {name: path for name, path in self.job_paths.items() if name in tables}
        return replace(self, job_paths=paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """The rows of one table that a load would change; None for counts that are unknown.

    The table would have `inserted - deleted` more rows.
    """

    table: str
    inserted: int | None = 0
    updated: int | None = 0
    """Rows whose key the table has, and that are replaced by a row of the load."""
    deleted: int | None = 0
    ended: int | None = 0
    """Row versions that end."""
    files: int | None = 0
    """The files of the table with rows that are updated, deleted or ended."""
    file_bytes: int | None = 0
    """The size of these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The content of a table by its version, or by the number of its rows if it has no versions."""

    version: int | None = None
    rows: int | None = None


class WithChangeCounts(ABC):
    """Can count what a load would change."""

    @abstractmethod
    def count_changes(self, load: UnsealedLoad) -> Sequence[TableChanges]:
        """Return the changes of each table that the load would commit to."""

    @abstractmethod
    def table_states(self, tables: Iterable[str]) -> Mapping[str, TableState]:
        """Return the states of those of the tables that exist."""
