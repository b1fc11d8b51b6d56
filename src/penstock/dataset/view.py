"""What one reader sees of a dataset: its tables, at one moment."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from penstock.dataset.standing import Standing, standing
from penstock.dataset.system import SYSTEM_SCHEMAS, system_row, visible
from penstock.errors import TableNotFound
from penstock.package.ledger import LOADS, SYSTEM_TABLES
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.dataset.place import Place
    from penstock.interfaces import CommitRecord, CompleteLoad, LoadSnapshot

# How far back the commits of a table are looked at first; readers that are old may need a longer look.
_COMMITS: Final = 50


class View:
    """The tables of a dataset after those loads that were complete when somebody first asked.

    Each table is read at the newest version that holds nothing of any other load, found when the table is
    first read and kept: whatever a reader reads later, it belongs to the same loads. Not `consistent`, it
    is the tables as they are.
    """

    def __init__(self, place: Place, *, name: str, consistent: bool) -> None:
        self._tables, self._ledger, self._pool = place.tables, place.ledger, place.pool
        self._user, self._consistent, self.name = place.user, consistent, name
        self._standings: dict[str, Standing | None] = {}
        self._found: tuple[str, ...] | None = None

    @property
    def spark(self) -> SparkSession:
        """The session in which everything is read: the user's."""
        return self._user.spark

    @cached_property
    def moment(self) -> LoadSnapshot | None:
        """The loads that this reader sees, asked for once; None before the first load."""
        return self._ledger.snapshot() if self._ledger.is_initialized() else None

    @cached_property
    def loads(self) -> tuple[CompleteLoad, ...]:
        """The names of the loads that this reader sees, oldest first: all of them are listed for it."""
        return () if self.moment is None else tuple(self.moment.loads())

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
        last = {} if self.moment is None else self.moment.last_loads()
        found = {name: self._ledger.find_commit(schema_name=name, load_id=one) for name, one in last.items()}
        return {name: load for name, load in found.items() if load is not None}

    @cached_property
    def _dropped(self) -> frozenset[str]:
        """Tables that a load has let go; they may stand there for a moment longer."""
        loads = self._last_loads.values()
        gone = {name for load in loads for name, told in load.tables.items() if told.get("dropped")}
        if not gone:
            return frozenset()
        return frozenset(gone.difference(*map(_with_data, self.stored_schemas.values())))

    def schemas(self) -> dict[str, Schema]:
        """The schemas by name."""
        return {name: Schema.from_dict(dict(stored)) for name, stored in self.stored_schemas.items()}

    def data_tables(self) -> list[str]:
        """The tables that this reader can read, without those of the ledger."""
        if not self._consistent:
            return list(self._existing())
        loaded = {name for stored in self.stored_schemas.values() for name in _with_data(stored)}
        # Only tables that no complete load tells of must be looked into.
        return [name for name in self._existing() if name in loaded or self._has(name)]

    def system_tables(self) -> list[str]:
        """The tables in which loads are kept track of."""
        return list(SYSTEM_TABLES) if self._ledger.is_initialized() else []

    def read(self, table: str) -> DataFrame:
        """A table in the user's session."""
        if table in SYSTEM_TABLES and self._ledger.is_initialized():
            return self._read_system(table)
        if table not in self._existing():
            raise TableNotFound(table=table, schema=self.name)
        if not self._consistent:
            return self._tables.read(table, spark=self.spark)
        found = self._standing(table)
        if found is not None and found.version is None:
            raise TableNotFound(table=table, schema=self.name)
        return self._tables.read(table, found.version if found else None, spark=self.spark)

    def held_back(self, tables: Sequence[str]) -> dict[str, int]:
        """Those of the tables that are read at an older version than their newest, and that version."""
        found = {table: self._standings.get(table) for table in tables}
        return {
            table: one.version
            for table, one in found.items()
            if one is not None and one.is_held_back and one.version is not None
        }

    def close(self) -> None:
        """Let go of sessions that were made to look at the tables."""
        self._pool.close()

    def _existing(self) -> tuple[str, ...]:
        """The tables that are there; what comes later is not part of the moment."""
        if not self._consistent:
            return self._tables.table_names()
        if self._found is None:
            self._found = tuple(name for name in self._tables.table_names() if name not in self._dropped)
        return self._found

    def _has(self, table: str) -> bool:
        found = self._standing(table)
        return found is None or found.version is not None

    def _standing(self, table: str) -> Standing | None:
        if table not in self._standings:
            known = self.moment or frozenset[str]()  # the moment comes before the look
            with self._pool.session() as spark:
                self._standings[table] = self._look(table, known, spark)
        return self._standings[table]

    def _look(self, table: str, known: Container[str], spark: SparkSession) -> Standing | None:
        """Where a table stands; None where the destination cannot tell."""
        commits = self._tables.commits(table, most=_COMMITS, spark=spark)
        if not commits:
            return None
        found = standing(commits, known, is_whole=len(commits) < _COMMITS)
        if found is None:
            found = standing(self._tables.commits(table, spark=spark), known, is_whole=True)
        return found

    def _read_system(self, table: str) -> DataFrame:
        rows = self._ledger.rows(table)
        if self._consistent:
            loads = rows if table == LOADS else self._ledger.rows(LOADS)
            rows = visible(table, rows, loads, self.load_ids)
        return self.spark.createDataFrame([system_row(table, row) for row in rows], SYSTEM_SCHEMAS[table])


def _with_data(stored: Mapping[str, Any]) -> list[str]:
    """Tables that have ever got rows, of a schema in its stored form: dlt's may be newer than we know."""
    tables = stored.get("tables", {}).items()
    return [name for name, table in tables if table.get("x-normalizer", {}).get("seen-data")]
