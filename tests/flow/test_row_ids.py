"""Ids of merged rows: from their key or from all their values, from root to grandchild."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock
from penstock.normalize.run import normalize
from penstock.package import Packages, read_job
from penstock.schema import Schema, naming_convention

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UPSERT = {"disposition": "merge", "strategy": "upsert"}
HISTORY = {"disposition": "merge", "strategy": "scd2"}
ROWS: list[dict[str, Any]] = [
    {"Id": 1, "name": "a", "items": [{"sku": "x", "sizes": [1, 2]}, {"sku": "y"}]},
    {"Id": 2, "name": "b", "items": [{"sku": "z", "sizes": [3]}]},
]


def shake(text: str) -> str:
    return base64.b64encode(hashlib.shake_128(text.encode()).digest(10)).decode().rstrip("=")


def tables_of(resource: Any, spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """Extract and normalize rows, without a destination."""
    info = penstock.pipeline("ids", pipelines_dir=folder / "pipelines").extract(resource)
    package = Packages.at(info.location).package(info.loads_ids[0])
    normalized = normalize(package, Schema("ids"), spark=spark, naming=naming_convention(), table_extras={})
    return {
        entry.table: read_job(f"{package.path}/new_jobs/{entry.job}").frame(spark)
        for entry in normalized.tables
    }


@pytest.mark.every_mode
def test_ids_of_upserted_rows_and_their_children_come_from_the_key(
    spark: SparkSession, location: str
) -> None:
    orders = penstock.resource(ROWS, name="orders", primary_key="Id", write_disposition=UPSERT)

    tables = tables_of(orders, spark, Path(location))

    roots = {row["id"]: row["_dlt_id"] for row in tables["orders"].collect()}
    assert roots == {1: shake('{"id":1}'), 2: shake('{"id":2}')}
    items = {row["sku"]: row for row in tables["orders__items"].collect()}
    assert items["y"]["_dlt_id"] == shake(f"{roots[1]}_orders__items_1")
    assert items["y"]["_dlt_parent_id"] == items["y"]["_dlt_root_id"] == roots[1]
    sizes = {row["value"]: row for row in tables["orders__items__sizes"].collect()}
    assert sizes[2]["_dlt_parent_id"] == items["x"]["_dlt_id"]
    assert sizes[2]["_dlt_root_id"] == roots[1]
    assert sizes[2]["_dlt_id"] == shake(f"{items['x']['_dlt_id']}_orders__items__sizes_1")


def test_rows_without_a_key_are_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    rows = [*ROWS, {"name": "no key"}, {"Id": None, "name": "null"}]
    orders = penstock.resource(rows, name="orders", primary_key="Id", write_disposition=UPSERT)

    tables = tables_of(orders, spark, tmp_path)

    assert {row["id"] for row in tables["orders"].collect()} == {1, 2}
    quarantined = tables["_dlt_quarantine"].collect()
    assert {row["raw"] for row in quarantined} == {'{"name":"no key"}', '{"Id":null,"name":"null"}'}
    assert {row["rule"] for row in quarantined} == {"primary_key: discard_row"}


def test_ids_of_scd2_rows_come_from_all_their_values(spark: SparkSession, tmp_path: Path) -> None:
    orders = penstock.resource(ROWS, name="orders", write_disposition=HISTORY)

    tables = tables_of(orders, spark, tmp_path)

    plain = [json.dumps(row, sort_keys=True, separators=(",", ":")) for row in ROWS]
    assert {row["_dlt_id"] for row in tables["orders"].collect()} == set(map(shake, plain))


@pytest.mark.parametrize("disposition", [UPSERT, HISTORY])
def test_frames_and_python_rows_get_the_same_ids(
    spark: SparkSession, tmp_path: Path, disposition: Any
) -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]

    def of(data: Any) -> set[str]:
        orders = penstock.resource(data, name="orders", primary_key="id", write_disposition=disposition)
        folder = tmp_path / type(data).__name__
        return {row["_dlt_id"] for row in tables_of(orders, spark, folder)["orders"].collect()}

    assert of(pa.table({"id": [1, 2], "name": ["a", None]})) == of(rows)
