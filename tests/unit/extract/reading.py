"""What the tests of this room share: reading without a pipeline, and extracting into a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from penstock.extract.engine import Engine
from penstock.extract.plan import Workload
from penstock.extract.run import Extraction, extract
from penstock.interfaces.columns import key_of
from penstock.schema import naming
from penstock.sources import flows_of

if TYPE_CHECKING:
    from penstock.package import Package
    from penstock.package.extracted import ExtractedTable


def arrivals(data: Any, **workload: Any) -> list[tuple[str, Any]]:
    """Every item with the name of its resource, in the order in which they arrive."""
    (flow,) = flows_of(data)
    return [(node.name, item) for node, item, _ in Engine(flow, Workload(**workload)).arrivals()]


def extracted(data: Any, package: Package, *, state: dict[str, Any] | None = None, **more: Any) -> Extraction:
    hints = {key: more.pop(key) for key in ("table_name", "write_disposition") if key in more}
    (flow,) = flows_of(data, **hints)
    kept = {} if state is None else state
    return extract(flow, package, schema_name=flow.name or "shop", naming=naming(), state=kept, **more)


def rows_of(package: Package, done: Extraction, data_format: str | None = None) -> dict[str, list[Any]]:
    """The rows of each table, as the files hold them; with `data_format` only those that stand so."""
    found: dict[str, list[Any]] = {}
    for table in done.extracted.tables:
        if data_format in {None, table.data_format}:
            found.setdefault(table.table, []).extend(rows_in(package, table))
    return found


def rows_in(package: Package, table: ExtractedTable) -> list[Any]:
    """The rows of one folder: read from texts, or typed, under the keys that the user gave."""
    files = pq.read_table(f"{package.path}/{table.folder}")
    if table.columns is None:
        return [json.loads(text) for text in files["row"].to_pylist()]
    named = files.rename_columns([key_of(column) for column in table.columns["fields"]])
    rows: list[Any] = named.to_pylist()
    return rows
