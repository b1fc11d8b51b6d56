"""What one reader sees of a dataset: its tables, at one moment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from penstock.dataset.visibility import (
    SYSTEM_SCHEMAS,
    VisibleVersion,
    system_row,
    visible_rows,
    visible_version,
)
from penstock.errors import SqlClientNotAvailable, TableNotFound
from penstock.interfaces import WithTableVersions
from penstock.package.file_ledger import LOADS_TABLE, SYSTEM_TABLE_NAMES
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import CommitRecord, CompleteLoad, JobClientBase, Ledger, LoadSnapshot
    from penstock.spark.session import UserSession
    from penstock.spark.session_pool import SessionPool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSource:
    """An opened destination, as its readers know it.

    Rows are read in the user's session. What must be found out about tables is found out in sessions of our
    own, for the user's may lack what that needs.
    """

    client: JobClientBase
    ledger: Ledger
    user: UserSession
    pool: SessionPool

    @property
    def tables(self) -> WithTableVersions:
        """The tables, of a destination that gives them back."""
        if not isinstance(self.client, WithTableVersions):
            raise SqlClientNotAvailable(destination=self.client.config.destination_name or "this destination")
        return self.client

    @property
    def location(self) -> str:
        """Where the tables are, without credentials."""
        return self.client.displayable_location()


# How far back the commits of a table are looked at first; readers that are old may need a longer look.
_RECENT_COMMITS: Final = 50


class DatasetView:
    """The tables of a dataset after those loads that were complete when somebody first asked.

    Each table is read at the newest version that holds nothing of any other load, found when the table is
    first read and kept: whatever a reader reads later, it belongs to the same loads. Not `consistent`, it
    is the tables as they are.
    """

    def __init__(self, source: DatasetSource, *, name: str, consistent: bool) -> None:
        self._tables, self._ledger, self._pool = source.tables, source.ledger, source.pool
        self._user, self._consistent, self.name = source.user, consistent, name
        self._visible_versions: dict[str, VisibleVersion | None] = {}
        self._cached_table_names: tuple[str, ...] | None = None

    @property
    def spark(self) -> SparkSession:
        """The session in which everything is read: the user's."""
        return self._user.spark

    @cached_property
    def snapshot(self) -> LoadSnapshot | None:
        """The loads that this reader sees, asked for once; None before the first load."""
        return self._ledger.snapshot() if self._ledger.is_initialized() else None

    @cached_property
    def loads(self) -> tuple[CompleteLoad, ...]:
        """The names of the loads that this reader sees, oldest first: all of them are listed for it."""
        return () if self.snapshot is None else tuple(self.snapshot.loads())

    @cached_property
    def load_ids(self) -> frozenset[str]:
        """The ids of the loads that this reader sees."""
        return frozenset(load.load_id for load in self.loads)

    @cached_property
    def stored_schemas(self) -> dict[str, Mapping[str, Any]]:
        """The schemas as the last of these loads left them, by name; the first that was ever loaded first."""
        found: dict[str, Mapping[str, Any]] = {}
        for name, load in self._last_loads.items():
            kept = self._ledger.find_schema(schema_name=name, version_hash=load.schema_version_hash)
            if kept:
                found[name] = json.loads(kept.schema)
        return found

    @cached_property
    def _last_loads(self) -> dict[str, CommitRecord]:
        """The last of these loads for each schema."""
        last = {} if self.snapshot is None else self.snapshot.last_loads()
        found = {name: self._ledger.find_commit(schema_name=name, load_id=one) for name, one in last.items()}
        return {name: load for name, load in found.items() if load is not None}

    @cached_property
    def _dropped_tables(self) -> frozenset[str]:
        """Tables that a load has let go; they may stand there for a moment longer."""
        loads = self._last_loads.values()
        gone = {name for load in loads for name, told in load.tables.items() if told.get("dropped")}
        if not gone:
            return frozenset()
        return frozenset(gone.difference(*map(_tables_with_data, self.stored_schemas.values())))

    def schemas(self) -> dict[str, Schema]:
        """The schemas by name."""
        return {name: Schema.from_dict(dict(stored)) for name, stored in self.stored_schemas.items()}

    def data_tables(self) -> list[str]:
        """The tables that this reader can read, without those of the ledger."""
        if not self._consistent:
            return list(self._table_names())
        loaded = {name for stored in self.stored_schemas.values() for name in _tables_with_data(stored)}
        # Only tables that no complete load tells of must be looked into.
        return [name for name in self._table_names() if name in loaded or self._has_visible_version(name)]

    def system_tables(self) -> list[str]:
        """The tables in which loads are kept track of."""
        return list(SYSTEM_TABLE_NAMES) if self._ledger.is_initialized() else []

    def read(self, table: str) -> DataFrame:
        """A table in the user's session."""
        if table in SYSTEM_TABLE_NAMES and self._ledger.is_initialized():
            return self._read_system(table)
        if table not in self._table_names():
            raise TableNotFound(table=table, schema=self.name)
        if not self._consistent:
            return self._tables.read(table, spark=self.spark)
        found = self._visible_version(table)
        if found is not None and found.version is None:
            raise TableNotFound(table=table, schema=self.name)
        return self._tables.read(table, found.version if found else None, spark=self.spark)

    def held_back_versions(self, tables: Sequence[str]) -> dict[str, int]:
        """Those of the tables that are read at an older version than their newest, and that version."""
        found = {table: self._visible_versions.get(table) for table in tables}
        return {
            table: one.version
            for table, one in found.items()
            if one is not None and one.is_held_back and one.version is not None
        }

    def close(self) -> None:
        """Let go of sessions that were made to look at the tables."""
        self._pool.close()

    def _table_names(self) -> tuple[str, ...]:
        """The tables that are there; what comes later is not part of the moment."""
        if not self._consistent:
            return self._tables.table_names()
        if self._cached_table_names is None:
            self._cached_table_names = tuple(
                name for name in self._tables.table_names() if name not in self._dropped_tables
            )
        return self._cached_table_names

    def _has_visible_version(self, table: str) -> bool:
        found = self._visible_version(table)
        return found is None or found.version is not None

    def _visible_version(self, table: str) -> VisibleVersion | None:
        if table not in self._visible_versions:
            known = self.snapshot or frozenset[str]()  # the moment comes before the look
            with self._pool.session() as spark:
                self._visible_versions[table] = self._find_visible_version(table, known, spark)
        return self._visible_versions[table]

    def _find_visible_version(
        self, table: str, complete_load_ids: Container[str], spark: SparkSession
    ) -> VisibleVersion | None:
        """Where a table stands; None where the destination cannot tell."""
        commits = self._tables.commits(table, most=_RECENT_COMMITS, spark=spark)
        if not commits:
            return None
        found = visible_version(
            commits, complete_load_ids, is_complete_history=len(commits) < _RECENT_COMMITS
        )
        if found is None:
            found = visible_version(
                self._tables.commits(table, spark=spark), complete_load_ids, is_complete_history=True
            )
        return found

    def _read_system(self, table: str) -> DataFrame:
        rows = self._ledger.rows(table)
        if self._consistent:
            loads = rows if table == LOADS_TABLE else self._ledger.rows(LOADS_TABLE)
            rows = visible_rows(table, rows, loads, self.load_ids)
        return self.spark.createDataFrame([system_row(table, row) for row in rows], SYSTEM_SCHEMAS[table])


def _tables_with_data(schema: Mapping[str, Any]) -> list[str]:
    """Tables that have ever got rows, of a schema in its stored form: dlt's may be newer than we know."""
    tables = schema.get("tables", {}).items()
    return [name for name, table in tables if table.get("x-normalizer", {}).get("seen-data")]
