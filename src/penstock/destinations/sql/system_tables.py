"""The system tables of a dataset: dlt's tables with its types, and columns of penstock beside them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from penstock.destinations.sql.ddl import add_column, column_definition, create_table
from penstock.destinations.sql.dialect import column, identifier
from penstock.interfaces import CommitRecord, CompleteLoad, StateInfo, StorageSchemaInfo
from penstock.package.dlt_ids import hash_digest
from penstock.schema import Column, Table
from penstock.schema.defaults import (
    ID_COLUMN,
    LOAD_ID_COLUMN,
    LOADS_DEFINITION,
    LOADS_TABLE,
    STATE_TABLE,
    VERSION_DEFINITION,
    VERSION_TABLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.destinations.sql.connection import LiveColumns, SqlConnection
    from penstock.destinations.sql.dialect import DatasetNames
    from penstock.schema import DataType

_STATE_COLUMNS: Final[Mapping[str, tuple[DataType, bool]]] = {
    "version": ("bigint", False),
    "engine_version": ("bigint", False),
    "pipeline_name": ("text", False),
    "state": ("text", False),
    "created_at": ("timestamp", False),
    "version_hash": ("text", True),
    LOAD_ID_COLUMN: ("text", False),
    ID_COLUMN: ("text", False),
}
"""The type of each column, and whether it accepts nulls."""
SYSTEM_TABLES: Final[Mapping[str, Table]] = {
    LOADS_TABLE: LOADS_DEFINITION.with_columns(
        (
            Column(name="pipeline", data_type="text"),
            Column(name="sequence", data_type="bigint"),
            Column(name="manifest_hash", data_type="text"),
            Column(name="tables", data_type="text"),
            Column(name="undoes", data_type="text"),
        )
    ),
    VERSION_TABLE: VERSION_DEFINITION,
    STATE_TABLE: Table(
        name=STATE_TABLE,
        columns={
            name: Column(name=name, data_type=kind, nullable=nullable)
            for name, (kind, nullable) in _STATE_COLUMNS.items()
        },
    ),
}
"""The definitions by name."""
_RENAMED: Final[Mapping[str, Mapping[str, str]]] = {LOADS_TABLE: {"pipeline_name": "pipeline"}}
"""Fields whose columns have other names: dlt joins loads and states, and names only one `pipeline_name`."""
_OPTIONAL: Final = ("pipeline_name", "sequence", "manifest_hash", "tables", "undoes")
_ONE_MICROSECOND: Final = timedelta(microseconds=1)
_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    LOADS_TABLE: ("inserted_at", "load_id"),
    VERSION_TABLE: ("inserted_at", "version"),
    STATE_TABLE: (LOAD_ID_COLUMN,),
}


class SystemTables:
    """The system tables of one dataset, over an open connection."""

    def __init__(self, connection: SqlConnection, names: DatasetNames) -> None:
        self._connection, self._names = connection, names
        self._live_columns: LiveColumns | None = None

    @property
    def exist(self) -> bool:
        """Whether the dataset has the tables."""
        return LOADS_TABLE in self._live

    def create(self) -> None:
        """Create the schema and those of the tables and columns that do not exist."""
        if self._live.keys() < SYSTEM_TABLES.keys():
            self._connection.create_dataset(self._names)
        for name, table in SYSTEM_TABLES.items():
            address, live = self._names.table(name), self._live.get(name)
            definitions = {
                definition.name: column_definition(definition, table, self._connection.dialect)
                for definition in table.complete_columns()
            }
            if live is None:
                self._connection.execute(create_table(address, definitions.values(), exists=True))
                continue
            for missing in (definition for key, definition in definitions.items() if key not in live):
                missing.set("constraints", [])
                self._connection.execute(add_column(address, missing))
        self._live_columns = None

    def find_load(self, load_id: str, schema_name: str | None = None) -> CommitRecord | None:
        """Return a complete load; None if there is none."""
        condition = {"load_id": load_id} | ({} if schema_name is None else {"schema_name": schema_name})
        return next(map(_commit_record, self._select(LOADS_TABLE, condition)), None)

    def last_load(self, pipeline_name: str) -> CommitRecord | None:
        """Return the newest complete load of a pipeline."""
        if "pipeline" not in self._live.get(LOADS_TABLE, ()):
            return None
        condition = {"pipeline_name": pipeline_name, "status": 0}
        return next(map(_commit_record, self._select(LOADS_TABLE, condition, newest=1)), None)

    def loads(self) -> list[CompleteLoad]:
        """Return the names of all complete loads, oldest first."""
        rows = self._select(LOADS_TABLE, columns=("schema_name", "load_id"))
        return [CompleteLoad(row["schema_name"], row["load_id"]) for row in rows]

    def find_schema(
        self, schema_name: str | None = None, version_hash: str | None = None
    ) -> StorageSchemaInfo | None:
        """Return the newest row of a schema, of one of its versions, or of any schema."""
        given = {"schema_name": schema_name, "version_hash": version_hash}
        condition = {name: value for name, value in given.items() if value is not None}
        rows = self._select(VERSION_TABLE, condition, newest=1)
        return next((_schema_info(row) for row in rows), None)

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""
        if not {LOADS_TABLE, STATE_TABLE} <= self._live.keys():
            return None
        names = [field.name for field in fields(StateInfo)]
        states, loads = self._names.table(STATE_TABLE, "s"), self._names.table(LOADS_TABLE, "l")
        query = (
            exp.select(*(column(name, "s") for name in names))
            .from_(states)
            .join(loads, on=column("load_id", "l").eq(column(LOAD_ID_COLUMN, "s")))
            .where(column("pipeline_name", "s").eq(exp.Placeholder()), column("status", "l").eq(0))
            .order_by(column("inserted_at", "l").desc(), column("load_id", "l").desc())
            .limit(1)
        )
        rows = self._connection.query(query, [pipeline_name])
        return next((_state_info(dict(zip(names, row, strict=True))) for row in rows), None)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return all rows of a table, oldest first."""
        return self._select(table)

    def insert_schema(self, row: StorageSchemaInfo) -> None:
        """Insert a schema version, unless it is the newest."""
        newest = self.find_schema(row.schema_name)
        if newest is not None and newest.version_hash == row.version_hash:
            return
        if newest is not None:
            # Versions are ordered by time, and the clock of this machine may be behind.
            row = row._replace(inserted_at=max(row.inserted_at, newest.inserted_at + _ONE_MICROSECOND))
        self._insert(VERSION_TABLE, row._asdict())

    def insert_state(self, row: StateInfo) -> None:
        """Insert a state; it counts once its load is complete."""
        content = f"{row.pipeline_name}/{row.load_id}/{row.version_hash}"
        self._insert(STATE_TABLE, {**asdict(row), ID_COLUMN: hash_digest(content)})

    def insert_load(self, record: CommitRecord) -> None:
        """Insert a complete load as the newest."""
        newest = self._select(LOADS_TABLE, columns=("inserted_at",), newest=1)
        inserted_at = datetime.fromisoformat(record.inserted_at)
        if newest:
            inserted_at = max(inserted_at, _in_utc(newest[0]["inserted_at"]) + _ONE_MICROSECOND)
        tables = json.dumps({name: dict(result) for name, result in record.tables.items()})
        undoes = json.dumps(record.undoes) if record.undoes else None
        row = {**asdict(record), "inserted_at": inserted_at, "tables": tables, "undoes": undoes}
        self._insert(LOADS_TABLE, row)

    @property
    def _live(self) -> LiveColumns:
        if self._live_columns is None:
            self._live_columns = self._connection.live_columns(self._names, SYSTEM_TABLES)
        return self._live_columns

    def _select(
        self,
        table: str,
        condition: Mapping[str, Any] | None = None,
        *,
        columns: Iterable[str] = (),
        newest: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return rows that equal a condition, oldest first; or the newest ones, newest first."""
        live = self._live.get(table)
        if live is None:
            return []
        fields = {column: field for field, column in _RENAMED.get(table, {}).items()}
        names = [name for name in (*columns,) or SYSTEM_TABLES[table].columns if name in live]
        query = exp.select(*(column(name) for name in names)).from_(self._names.table(table))
        for name in condition or {}:
            query = query.where(column(_column_name(table, name)).eq(exp.Placeholder()))
        order = [exp.Ordered(this=column(name), desc=newest is not None) for name in _ORDER[table]]
        query = query.order_by(*order)
        rows = self._connection.query(
            query if newest is None else query.limit(newest), [*(condition or {}).values()]
        )
        return [dict(zip((fields.get(name, name) for name in names), row, strict=True)) for row in rows]

    def _insert(self, table: str, fields: Mapping[str, Any]) -> None:
        row = {_column_name(table, name): value for name, value in fields.items()}
        names = [name for name in SYSTEM_TABLES[table].columns if name in row]
        statement = exp.insert(
            exp.values([tuple(exp.Placeholder() for _ in names)]),
            self._names.table(table),
            columns=[identifier(name) for name in names],
        )
        self._connection.execute(statement, [row[name] for name in names])


def _column_name(table: str, field: str) -> str:
    return _RENAMED.get(table, {}).get(field, field)


def _commit_record(row: Mapping[str, Any]) -> CommitRecord:
    """Return the load of a row; dlt's rows have no values in penstock's columns."""
    values = {**row, "inserted_at": _in_utc(row["inserted_at"]).isoformat()}
    for name in _OPTIONAL:
        if values.get(name) is None:
            values.pop(name, None)
    if "tables" in values:
        values["tables"] = json.loads(values["tables"])
    if "undoes" in values:
        values["undoes"] = tuple(json.loads(values["undoes"]))
    values["schema_version_hash"] = values.get("schema_version_hash") or ""
    return CommitRecord(**values)


def _schema_info(row: Mapping[str, Any]) -> StorageSchemaInfo:
    values = {**row, "inserted_at": _in_utc(row["inserted_at"])}
    return StorageSchemaInfo(**{name: values[name] for name in StorageSchemaInfo._fields})


def _state_info(row: Mapping[str, Any]) -> StateInfo:
    return StateInfo(**{**row, "created_at": _in_utc(row["created_at"])})


def _in_utc(timestamp: datetime) -> datetime:
    return timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC)
