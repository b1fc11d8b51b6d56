"""A shop with a chain of tables for each write disposition, and the expected content of its tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from tests.flow.crashes.lakes import DELTA, Lake

import penstock
from penstock.package import Packages
from penstock.package.control_file import encode_control, read_control
from penstock.package.file_ledger import FileLedger
from penstock.package.storage import FileStorage
from penstock.pipeline.state import decode_state
from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import Destination

REQUESTED: Final = os.environ.get("PENSTOCK_TEST_CRASHES", "")
"""Empty for a few steps, `all`, `kinds` for the first step of each kind, or a part: `2/5`, `kinds:2/5`."""
NAME: Final = "shop"
_MOMENTS: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
DISPOSITIONS: Final[dict[str, dict[str, Any]]] = {
    "events": {"write_disposition": "append"},
    "orders": {"write_disposition": "merge", "primary_key": "id"},
    "customers": {
        "write_disposition": {"disposition": "merge", "strategy": "upsert"},
        "primary_key": "id",
    },
    "prices": {"write_disposition": {"disposition": "merge", "strategy": "scd2"}},
}
BATCHES: Final[dict[str, list[list[dict[str, Any]]]]] = {
    "events": [[{"id": 1}, {"id": 2}], [{"id": 3}], [{"id": 4}]],
    "orders": [
        [{"id": 1, "lines": [{"sku": "a"}, {"sku": "b"}]}, {"id": 2, "lines": [{"sku": "c"}]}],
        [{"id": 1, "lines": [{"sku": "d"}]}, {"id": 3, "lines": [{"sku": "e"}, {"sku": "f"}]}],
        [{"id": 4, "lines": [{"sku": "g"}]}],
    ],
    "customers": [
        [{"id": 1, "name": "Ann", "phones": [1, 2]}, {"id": 2, "name": "Bob", "phones": [3]}],
        [{"id": 2, "name": "Bill", "phones": [4, 5]}, {"id": 3, "name": "Cy", "phones": [6]}],
        [{"id": 1, "name": "Anna", "phones": [7]}],
    ],
    "prices": [
        [{"sku": "a", "price": 1, "tiers": [10, 20]}, {"sku": "b", "price": 2, "tiers": [30]}],
        [{"sku": "a", "price": 9, "tiers": [10]}, {"sku": "b", "price": 2, "tiers": [30]}],
        [{"sku": "a", "price": 1, "tiers": [10, 20]}],
    ],
}
NESTED: Final = ("orders__lines", "customers__phones", "prices__tiers")
ROOTS: Final = tuple(BATCHES) if REQUESTED else ("events", "orders")
"""For a few steps, an append and a merge of two tables: each table costs every run a second."""
TABLES: Final = (*ROOTS, *(table for table in NESTED if table.partition("__")[0] in ROOTS))

Content = dict[str, list[dict[str, Any]]]


def shop(upto: int, **replaced: list[dict[str, Any]]) -> list[Any]:
    """Return resources that yield every batch once, by their state; `replaced` has other last batches."""

    def batches(name: str) -> Iterator[dict[str, Any]]:
        state = penstock.current.resource_state()
        existing = BATCHES[name][:upto]
        for batch in [*existing[:-1], replaced.get(name, existing[-1])][state.get("done", 0) :]:
            yield from batch
        state["done"] = upto

    return [penstock.resource(batches, name=name, **DISPOSITIONS[name])(name) for name in ROOTS]


def lake_of(root: Path) -> str:
    return f"{root}/lake"


def pipeline_at(
    root: Path,
    spark: SparkSession | None,
    *,
    destination: Destination | Lake = DELTA,
    disk: str = "disk",
) -> penstock.Pipeline:
    """Return a new pipeline. `disk` is the folder of this machine; another name is an empty disk."""
    return penstock.pipeline(
        NAME,
        pipelines_dir=root / disk,
        destination=destination.destination(lake_of(root)) if isinstance(destination, Lake) else destination,
        dataset_name=NAME,
        spark=spark,
    )


def packages_at(root: Path) -> Packages:
    return Packages.at(f"{lake_of(root)}/{NAME}/_dlt_pkg/{NAME}")


def ledger_at(root: Path) -> FileLedger:
    return FileLedger(FileStorage(f"{lake_of(root)}/{NAME}"))


def expire_lease(root: Path) -> None:
    """Mark the holder of the lease as ended."""
    expire_holder(packages_at(root))


def expire_holder(packages: Packages) -> None:
    """Write the id of an ended process into the lease."""
    store = packages.store
    with subprocess.Popen(["true"]) as removed:
        removed.wait()
    for name in store.names("lease"):
        if name.endswith(".json"):
            holder = read_control(store, f"lease/{name}") or {}
            store.put(f"lease/{name}", encode_control({**holder, "process": removed.pid}))


def image(root: Path, into: Path) -> Path:
    """Copy everything durable, as the next process would find it."""
    shutil.copytree(root, into, ignore=shutil.ignore_patterns(".tmp-*"))
    expire_lease(into)
    return into


def loads(root: Path) -> list[str]:
    """Return the complete loads in order."""
    rows = sorted(ledger_at(root).rows("_dlt_loads"), key=lambda row: row["sequence"])
    return [row["load_id"] for row in rows if row["status"] == 0]


def content(root: Path, spark: SparkSession, lake: Lake = DELTA) -> Content:
    """Return every row of every table with all columns, sorted, as an independent reader sees them."""
    return rows_of(lake.frames(Path(lake_of(root)) / NAME, spark))


def rows_of(frames: Mapping[str, DataFrame]) -> Content:
    """Read all rows of several tables in one query."""
    result: Content = {table: [] for table in sorted(frames)}
    row = F.to_json(F.struct("*"), {"timestampFormat": _MOMENTS})
    parts = [frame.select(F.lit(table).alias("table"), row.alias("row")) for table, frame in frames.items()]
    for table, text in sorted(
        reduce(lambda left_frame, right_frame: left_frame.union(right_frame), parts).collect()
    ):
        result[table].append(json.loads(text))
    return result


def with_load_numbers(result: Content, loaded: list[str]) -> Content:
    """Replace the ids of loads by their numbers."""
    words = {load_id: f"load {number}" for number, load_id in enumerate(loaded, 1)}
    moments = {
        datetime.fromtimestamp(float(load_id), UTC): f"load {number}"
        for number, load_id in enumerate(loaded, 1)
    }
    return {
        table: [{name: _word(name, value, words, moments) for name, value in row.items()} for row in rows]
        for table, rows in result.items()
    }


def comparable_content(result: Content, loaded: list[str]) -> dict[str, Any]:
    """Return the content without ids of loads: documents, and the ids that come from the rows alone."""
    tables = with_load_numbers(result, loaded)
    ids = {
        table: sorted(row["_dlt_id"] for row in rows)
        for table, rows in tables.items()
        if table.startswith(("customers", "prices"))
    }
    per_load = {table: sorted(row["_dlt_load_id"] for row in tables[table]) for table in ROOTS}
    chains = {
        root: documents({name: rows for name, rows in tables.items() if name.startswith(root)}, root)
        for root in ROOTS
    }
    unique = {table: len({row["_dlt_id"] for row in rows}) for table, rows in tables.items()}
    return {"chains": chains, "ids": ids, "loads": per_load, "unique": unique}


def done(root: Path) -> dict[str, int]:
    """Return the number of batches in the state of each resource."""
    stored = ledger_at(root).last_state(NAME)
    resources = decode_state(stored.state)["sources"][NAME]["resources"] if stored else {}
    return {name: resources.get(name, {}).get("done", 0) for name in ROOTS}


def _word(name: str, value: Any, words: dict[str, str], moments: dict[datetime, str]) -> Any:
    if name == "_dlt_load_id":
        return words.get(value, value)
    if name.startswith("_dlt_valid") and value is not None:
        return moments.get(datetime.fromisoformat(value), value)
    return value
