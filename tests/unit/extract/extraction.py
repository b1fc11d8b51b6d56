"""Extraction without a pipeline, for tests: reading items, and writing a package in a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.extract.run import ExtractResult, extract
from penstock.interfaces.file_schema import column_key
from penstock.schema import naming_convention
from penstock.sources import flows_of

if TYPE_CHECKING:
    from penstock.package import Package
    from penstock.package.extract_manifest import ExtractedTable


def read_all(data: Any, **workload: Any) -> list[tuple[str, Any]]:
    """Return every item with the name of its resource, in order."""
    (flow,) = flows_of(data)
    return [(node.name, item) for node, item, _ in ExtractEngine(flow, Workload(**workload)).items()]


def extract_data(
    data: Any, package: Package, *, state: dict[str, Any] | None = None, **more: Any
) -> ExtractResult:
    hints = {key: more.pop(key) for key in ("table_name", "write_disposition") if key in more}
    (flow,) = flows_of(data, **hints)
    source_state = {} if state is None else state
    return extract(
        flow, package, schema_name=flow.name or "shop", naming=naming_convention(), state=source_state, **more
    )


def table_rows(package: Package, done: ExtractResult, data_format: str | None = None) -> dict[str, list[Any]]:
    """Return the rows of each table as stored in its files; with `data_format` only those of that format."""
    tables: dict[str, list[Any]] = {}
    for table in done.extracted.tables:
        if table.files and data_format in {None, table.data_format}:
            tables.setdefault(table.table, []).extend(rows_in(package, table))
    return tables


def rows_in(package: Package, table: ExtractedTable) -> list[Any]:
    """Return the rows of a folder, from JSON texts or typed columns, under the user's keys."""
    files = pq.read_table(f"{package.path}/{table.folder}")
    if table.columns is None:
        return [json.loads(text) for text in files["row"].to_pylist()]
    columns = table.columns["fields"]
    named = files.select([column["name"] for column in columns]).rename_columns(
        [column_key(column) for column in columns]
    )
    rows: list[Any] = named.to_pylist()
    return rows
