"""Loads of table chains into Delta, from rows that a test flattens itself.

Normalize is tested elsewhere; here all hints are explicit and the ids are known.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from penstock.destinations.delta.addressing import PathTables
from penstock.destinations.delta.run import DeltaTables
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.destinations.lake.rows import POSITION
from penstock.destinations.lake.run import ChainLoad
from penstock.interfaces import LoadMark
from penstock.package.storage import FileStorage
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import AppliedJob

TEXT: dict[str, Any] = {"data_type": "text"}
SEEN = {"x-normalizer": {"seen-data": True}}
POSITION_TYPE = pa.struct([("part", pa.int32()), ("file", pa.string()), ("row", pa.int64())])
ARROW = {
    "text": pa.string(),
    "bigint": pa.int64(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}
BY_KEY = frozenset(("upsert", "insert-only"))

Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Staging:
    """The flattened rows of one load, in Parquet files of a folder that replaces its package."""

    folder: Path
    mark: LoadMark
    schema: Schema
    tables: frozenset[str]
    created_at: str

    @property
    def store(self) -> FileStorage:
        return FileStorage(str(self.folder))

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(str(self.folder / f"{table}.parquet"))

    def flat_files(self, table: str) -> None:
        """Return None: Spark writes these rows."""


@dataclass
class Lake:
    """A dataset, and the loads into it."""

    folder: Path
    spark: SparkSession
    schema: Schema = field(default_factory=lambda: Schema("shop"))
    loads: int = 0

    @property
    def addressing(self) -> PathTables:
        return PathTables(FileStorage(str(self.folder / "lake")))

    @property
    def tables(self) -> DeltaTables:
        return DeltaTables(addressing=self.addressing)

    def stage(self, root: str, rows: Sequence[dict[str, Any]], **hints: Any) -> Staging:
        """Write the rows of a load into a package; `hints` are those of the resource."""
        self.loads += 1
        declare(self.schema, root, **hints)
        strategy = _strategy(hints.get("write_disposition"))
        flat = flattened(root, rows, key=_id_of(strategy, hints.get("primary_key") or (), self.loads))
        for name in flat:
            nest(self.schema, name, root, has_root_key=strategy not in {None, "scd2"})
        folder = self.folder / "packages" / f"{root}-{self.loads}"
        folder.mkdir(parents=True)
        for name, table_rows in flat.items():
            parquet.write_table(_arrow(table_rows, self.schema.get_table(name)), folder / f"{name}.parquet")
        mark = LoadMark(
            pipeline_name="shop", sequence=self.loads, load_id=str(self.loads), manifest_hash=root
        )
        return Staging(
            folder=folder,
            mark=mark,
            schema=self.schema.clone(),
            tables=frozenset(flat),
            created_at=datetime(2024, 1, 1, hour=self.loads % 24, tzinfo=UTC).isoformat(),
        )

    def chain(self, root: str, staging: Staging) -> ChainLoad:
        return ChainLoad(
            root=root,
            schema=staging.schema.tables,
            staged=staging,
            target=self.tables,
            chain_locks=ChainLocks(),
            spark=self.spark,
        )

    def commits(self, root: str, staging: Staging) -> Iterator[AppliedJob]:
        """Yield the commits of a load as the load stage makes them: one job for each table, root last."""
        for table in (*sorted(staging.tables - {root}, reverse=True), root):
            chain = self.chain(root, staging)
            for step in chain.plan.steps_for(table, staging.tables):
                if (applied := chain.commit(step)) is not None:
                    yield applied

    def apply(self, root: str, staging: Staging) -> list[AppliedJob]:
        """Make all commits of a load."""
        return list(self.commits(root, staging))

    def load(self, root: str, rows: Sequence[dict[str, Any]], **hints: Any) -> list[AppliedJob]:
        return self.apply(root, self.stage(root, rows, **hints))

    def content(self, root: str) -> dict[str, list[dict[str, Any]]]:
        names = [
            name for name in self.addressing.table_names() if name == root or name.startswith(f"{root}__")
        ]
        return {
            name: [_plain(row.asDict()) for row in self.tables.read(name, spark=self.spark).collect()]
            for name in names
        }


def declare(
    schema: Schema,
    root: str,
    *,
    columns: dict[str, dict[str, Any]],
    write_disposition: Any = "append",
    primary_key: Sequence[str] = (),
    merge_key: Sequence[str] = (),
) -> None:
    """Update a root table with the hints of its resource."""
    settings = (
        write_disposition if isinstance(write_disposition, dict) else {"disposition": write_disposition}
    )
    strategy = settings.get("strategy")
    all_columns: dict[str, dict[str, Any]] = {name: dict(column) for name, column in columns.items()}
    for hint, names in (("primary_key", primary_key), ("merge_key", merge_key)):
        for name in names:
            all_columns[name][hint] = True
    all_columns["_dlt_load_id"] = dict(TEXT)
    all_columns["_dlt_id"] = {**TEXT, "row_key": True}
    extras: dict[str, Any] = {"x-merge-strategy": strategy} if strategy else {}
    if strategy == "scd2":
        all_columns["_dlt_valid_from"] = {"data_type": "timestamp", "x-valid-from": True}
        all_columns["_dlt_valid_to"] = {"data_type": "timestamp", "x-valid-to": True}
        all_columns["_dlt_id"] = {**TEXT, "row_key": False, "x-row-version": True}
        extras["x-boundary-timestamp"] = settings.get("boundary_timestamp")
    schema.update_table(
        Table.from_dict(
            {
                "name": root,
                "write_disposition": settings["disposition"],
                "columns": all_columns,
                **SEEN,
                **extras,
            }
        )
    )


def nest(schema: Schema, name: str, root: str, *, has_root_key: bool) -> None:
    """Update a nested table with the columns of its rows."""
    if name == root:
        return
    columns: dict[str, dict[str, Any]] = {
        "value": {"data_type": "bigint"} if name.endswith("__sizes") else dict(TEXT),
        "sku": dict(TEXT),
        "_dlt_parent_id": {**TEXT, "parent_key": True},
        "_dlt_list_idx": {"data_type": "bigint"},
        "_dlt_id": {**TEXT, "row_key": True},
    }
    if has_root_key:
        columns["_dlt_root_id"] = {**TEXT, "root_key": True}
    parent = name.rpartition("__")[0]
    if parent not in schema.tables:
        nest(schema, parent, root, has_root_key=has_root_key)
    schema.update_table(Table.from_dict({"name": name, "parent": parent, "columns": columns, **SEEN}))


def flattened(
    root: str, rows: Sequence[dict[str, Any]], *, key: Callable[[dict[str, Any], int], str]
) -> Rows:
    """Return the rows of all tables, each with the position of its root row."""
    tables: Rows = {}
    for number, row in enumerate(rows):
        at = {"part": 0, "file": "f", "row": number}
        row_id = key(row, number)
        own = {name: value for name, value in row.items() if not isinstance(value, list)}
        tables.setdefault(root, []).append({**own, "_dlt_id": row_id, "_dlt_load_id": "l", POSITION: at})
        for table, below in _below(row, root, row_id):
            tables.setdefault(table, []).append({**below, "_dlt_root_id": row_id, POSITION: at})
    return tables


def _below(row: dict[str, Any], table: str, row_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, elements in row.items():
        if not isinstance(elements, list):
            continue
        for index, element in enumerate(elements):
            child = f"{table}__{name}"
            child_id = digest([row_id, child, index])
            values = element if isinstance(element, dict) else {"value": element}
            own = {key: value for key, value in values.items() if not isinstance(value, list)}
            yield child, {**own, "_dlt_parent_id": row_id, "_dlt_list_idx": index, "_dlt_id": child_id}
            yield from _below(values, child, child_id)


def digest(value: Any) -> str:
    return hashlib.shake_128(json.dumps(value, sort_keys=True).encode()).hexdigest(10)


def _strategy(write_disposition: Any) -> str | None:
    if isinstance(write_disposition, dict):
        return str(write_disposition.get("strategy") or "delete-insert")
    return "delete-insert" if write_disposition == "merge" else None


def _id_of(
    strategy: str | None, primary_key: Sequence[str], load: int
) -> Callable[[dict[str, Any], int], str]:
    if strategy in BY_KEY:
        return lambda row, _: digest({name: row[name] for name in primary_key})
    if strategy == "scd2":
        return lambda row, _: digest(row)
    return lambda _, number: f"{load}-{number}"


def _arrow(rows: list[dict[str, Any]], table: Table) -> pa.Table:
    fields = [pa.field(POSITION, POSITION_TYPE)]
    has = {name for row in rows for name in row}
    fields += [
        pa.field(column.name, ARROW[str(column.data_type)])
        for column in table.complete_columns()
        if column.name in has
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
