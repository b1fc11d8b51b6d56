"""The view of one reader: the tables of a dataset at one snapshot of its loads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from penstock.dataset.database import DatabaseReader
from penstock.dataset.query_text import DIALECT
from penstock.dataset.visibility import (
    SYSTEM_SCHEMAS,
    VisibleVersion,
    system_row,
    visible_rows,
    visible_version,
)
from penstock.errors import SqlClientNotAvailable, TableNotFound
from penstock.interfaces import WithSmallTables, WithTableVersions
from penstock.interfaces.deletions import LoadedTable
from penstock.interfaces.sql_client import WithSqlSession
from penstock.package.file_ledger import LOADS_TABLE, SYSTEM_TABLE_NAMES
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import CommitRecord, CompleteLoad, JobClientBase, Ledger, LoadSnapshot
    from penstock.interfaces.sql_client import SqlSession
    from penstock.schema import NamingConvention
    from penstock.spark.sessions_on_demand import SessionsOnDemand


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSource:
    """An opened destination with the sessions of its readers.

    Rows are read in the user's session. Histories are read in penstock's own sessions, as the user's may lack
    the settings for them.
    """

    client: JobClientBase
    ledger: Ledger
    sessions: SessionsOnDemand

    @property
    def tables(self) -> WithTableVersions:
        """The tables; raise if the destination cannot be read."""
        if not isinstance(self.client, WithTableVersions):
            raise SqlClientNotAvailable(destination=self.client.config.destination_name or "this destination")
        return self.client

    @property
    def location(self) -> str:
        """The location of the tables, without credentials."""
        return self.client.displayable_location()


# The first read of the commits of a table; old snapshots may need a longer one.
_RECENT_COMMITS: Final = 50


class DatasetView:
    """The tables of a dataset with the loads that were complete at the first read.

    Each table is read at the newest version without data of other loads. The version is determined at the
    first read of the table and kept, so all later reads belong to the same loads. If not `consistent`, tables
    are read at their current version.
    """

    def __init__(
        self, source: DatasetSource, *, name: str, consistent: bool, session: SqlSession | None = None
    ) -> None:
        self._tables, self._ledger, self._sessions = source.tables, source.ledger, source.sessions
        self._consistent, self.name, self._session = consistent, name, session
        self._visible_versions: dict[str, VisibleVersion | None] = {}
        self._cached_table_names: tuple[str, ...] | None = None

    @cached_property
    def database(self) -> DatabaseReader | None:
        """The reader of a database that answers queries itself; None if Spark reads the tables."""
        tables = self._tables
        return DatabaseReader(tables, self._session) if isinstance(tables, WithSqlSession) else None

    @property
    def dialect(self) -> str:
        """The SQL dialect of queries, by the name that sqlglot has for it."""
        return DIALECT if self.database is None else self.database.dialect

    @property
    def spark(self) -> SparkSession:
        """The user's session, which reads everything."""
        return self._sessions.user.spark

    @cached_property
    def snapshot(self) -> LoadSnapshot | None:
        """The visible loads, read once; None before the first load."""
        return self._ledger.snapshot() if self._ledger.is_initialized() else None

    @cached_property
    def loads(self) -> tuple[CompleteLoad, ...]:
        """The visible loads, oldest first; lists all of them."""
        return () if self.snapshot is None else tuple(self.snapshot.loads())

    @cached_property
    def load_ids(self) -> frozenset[str]:
        """The ids of the visible loads."""
        return frozenset(load.load_id for load in self.loads)

    @cached_property
    def stored_schemas(self) -> dict[str, Mapping[str, Any]]:
        """The schemas of the last visible loads, by name, in the order of their first load."""
        schemas: dict[str, Mapping[str, Any]] = {}
        for name, load in self._last_loads.items():
            stored = self._ledger.find_schema(schema_name=name, version_hash=load.schema_version_hash)
            if stored:
                schemas[name] = json.loads(stored.schema)
        return schemas

    @cached_property
    def _last_loads(self) -> dict[str, CommitRecord]:
        """The last visible load of each schema."""
        load_ids = {} if self.snapshot is None else self.snapshot.last_loads()
        commits = {
            name: self._ledger.find_commit(schema_name=name, load_id=load_id)
            for name, load_id in load_ids.items()
        }
        return {name: commit for name, commit in commits.items() if commit is not None}

    @cached_property
    def _dropped_tables(self) -> frozenset[str]:
        """Tables dropped by a complete load; their files may still exist briefly."""
        loads = self._last_loads.values()
        dropped = {name for load in loads for name, result in load.tables.items() if result.get("dropped")}
        if not dropped:
            return frozenset()
        return frozenset(dropped.difference(*map(_tables_with_data, self.stored_schemas.values())))

    def schemas(self) -> dict[str, Schema]:
        """Return the schemas by name."""
        return {name: Schema.from_dict(dict(stored)) for name, stored in self.stored_schemas.items()}

    def data_tables(self) -> list[str]:
        """Return the visible data tables."""
        if not self._consistent:
            return list(self._table_names())
        loaded = {name for stored in self.stored_schemas.values() for name in _tables_with_data(stored)}
        # Only the history of tables without a complete load must be read.
        return [name for name in self._table_names() if name in loaded or self._has_visible_version(name)]

    def system_tables(self) -> list[str]:
        """Return the system tables."""
        return list(SYSTEM_TABLE_NAMES) if self._ledger.is_initialized() else []

    def read(self, table: str, session: SparkSession | None = None) -> DataFrame:
        """Return a frame over a table, in a session of the destination or in the user's one."""
        if table in SYSTEM_TABLE_NAMES and self._ledger.is_initialized():
            return self._read_system(table)
        return self._tables.read(table, self._version_to_read(table), spark=session or self.spark)

    def loaded_table(
        self, name: str, schema: Schema, naming: NamingConvention, *, session: SparkSession
    ) -> LoadedTable | None:
        """Return a table of a schema by its name before normalization; None if nothing was loaded into it."""
        table = schema.tables.get(naming.normalize_tables_path(name))
        if table is None or not table.has_seen_data:
            return None
        nested = [other for other in schema.tables.values() if other.parent == table.name]
        return LoadedTable(
            frame=self.read(table.name, session),
            table=table,
            naming=naming,
            has_nested_tables=any(other.has_seen_data for other in nested),
        )

    def read_small(self, table: str) -> pa.Table | None:
        """Return all rows of a small table without Spark; None if Spark runs, or has to read them."""
        tables = self._tables
        if self._sessions.is_open or table in SYSTEM_TABLE_NAMES or not isinstance(tables, WithSmallTables):
            return None
        return tables.read_small_table(table, self._version_to_read(table))

    def _version_to_read(self, table: str) -> int | None:
        """Return the version at which a table is read, None for the newest; raise if there is no table."""
        if table not in self._table_names():
            raise TableNotFound(table=table, schema=self.name)
        visible = self._visible_version(table) if self._consistent else None
        if visible is not None and visible.version is None:
            raise TableNotFound(table=table, schema=self.name)
        return visible.version if visible else None

    def held_back_versions(self, tables: Sequence[str]) -> dict[str, int]:
        """Return the tables that are read at an older version than their newest, with that version."""
        versions = {table: self._visible_versions.get(table) for table in tables}
        return {
            table: visible.version
            for table, visible in versions.items()
            if visible is not None and visible.is_held_back and visible.version is not None
        }

    def close(self) -> None:
        """Close the sessions that were opened to inspect the tables."""
        self._sessions.close()

    def _table_names(self) -> tuple[str, ...]:
        """Return the existing tables, listed once: later ones are not part of the snapshot."""
        if not self._consistent:
            return self._tables.table_names()
        if self._cached_table_names is None:
            self._cached_table_names = tuple(
                name for name in self._tables.table_names() if name not in self._dropped_tables
            )
        return self._cached_table_names

    def _has_visible_version(self, table: str) -> bool:
        visible = self._visible_version(table)
        return visible is None or visible.version is not None

    def _visible_version(self, table: str) -> VisibleVersion | None:
        if table not in self._visible_versions:
            complete = self.snapshot or frozenset[str]()  # taken before the history is read
            with self._sessions.deferred_session() as spark:
                self._visible_versions[table] = self._find_visible_version(table, complete, spark)
        return self._visible_versions[table]

    def _find_visible_version(
        self, table: str, complete_load_ids: Container[str], spark: SparkSession
    ) -> VisibleVersion | None:
        """Return the visible version of a table; None if the destination has no history."""
        commits = self._tables.commits(table, most=_RECENT_COMMITS, spark=spark)
        if not commits:
            return None
        recent = visible_version(
            commits, complete_load_ids, is_complete_history=len(commits) < _RECENT_COMMITS
        )
        if recent is not None:
            return recent
        return visible_version(
            self._tables.commits(table, spark=spark), complete_load_ids, is_complete_history=True
        )

    def _read_system(self, table: str) -> DataFrame:
        rows = self._ledger.rows(table)
        if self._consistent:
            loads = rows if table == LOADS_TABLE else self._ledger.rows(LOADS_TABLE)
            rows = visible_rows(table, rows, loads, self.load_ids)
        return self.spark.createDataFrame([system_row(table, row) for row in rows], SYSTEM_SCHEMAS[table])


def _tables_with_data(schema: Mapping[str, Any]) -> list[str]:
    """Return the tables of a stored schema that have seen rows. Not parsed: dlt's may be newer."""
    tables = schema.get("tables", {}).items()
    return [name for name, table in tables if table.get("x-normalizer", {}).get("seen-data")]
