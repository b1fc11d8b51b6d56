"""Properties of Iceberg tables: columns, partitions, settings, snapshots, readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.iceberg_dataset import mark, open_iceberg_dataset

import penstock
from penstock.errors import TableVersionGone
from penstock.schema import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

UPSERT: dict[str, Any] = {
    "write_disposition": {"disposition": "merge", "strategy": "upsert"},
    "primary_key": "id",
}


class Lake:
    """One dataset; its tables are inspected through their metadata files, without Spark."""

    def __init__(self, location: str, tmp_path: Path, spark: SparkSession) -> None:
        self.location, self._folder, self._spark = location, tmp_path, spark

    def pipeline(self, settings: dict[str, Any] | None = None) -> penstock.Pipeline:
        return penstock.pipeline(
            "shop",
            pipelines_dir=self._folder / "pipelines",
            destination=penstock.destinations.iceberg(bucket_url=self.location, **(settings or {})),
            dataset_name="demo",
            spark=self._spark,
        )

    def run(self, rows: Any, settings: dict[str, Any] | None = None, **hints: Any) -> Any:
        more = {"additional_table_hints": hints.pop("table_hints", None)}
        resource = penstock.resource(list(rows), name="items", **hints)
        resource.apply_hints(**more)
        return self.pipeline(settings).run(resource)

    def metadata(self) -> dict[str, Any]:
        folder = Path(self.location) / "demo" / "items" / "metadata"
        newest = (folder / "version-hint.text").read_text().strip()
        result: dict[str, Any] = json.loads((folder / f"v{newest}.metadata.json").read_text())
        return result

    def columns(self) -> dict[str, tuple[int, str]]:
        metadata = self.metadata()
        schema = next(
            item for item in metadata["schemas"] if item["schema-id"] == metadata["current-schema-id"]
        )
        return {field["name"]: (field["id"], field["type"]) for field in schema["fields"]}

    def ids(self) -> list[Any]:
        return sorted(row["id"] for row in self.pipeline().dataset()["items"].arrow().to_pylist())


@pytest.fixture
def lake(location: str, tmp_path: Path, spark: SparkSession) -> Lake:
    return Lake(location, tmp_path, spark)


def test_table_hints_apply_and_columns_keep_their_ids(lake: Lake) -> None:
    hints: dict[str, Any] = {
        "table_hints": {
            "x-iceberg-partition": [{"transform": "bucket", "source_column": "id", "param_value": 4}],
            "x-iceberg-table-properties": {"team": "shop"},
        },
    }

    lake.run([{"id": 1, "n": 1}], **hints)
    first, before = lake.columns(), lake.metadata()
    lake.run([{"id": 2, "late": 1.5}], {"table_properties": {"more": True}}, **hints)
    lake.run([{"id": 3}], write_disposition="replace", **hints)
    second, after = lake.columns(), lake.metadata()

    assert {name: second[name] for name in first} == first
    assert second["late"][1] == "double"
    assert [field["transform"] for field in after["partition-specs"][0]["fields"]] == ["bucket[4]"]
    assert before["format-version"] == 2
    assert (after["properties"]["team"], after["properties"]["more"]) == ("shop", "true")
    assert after["table-uuid"] == before["table-uuid"]
    assert lake.ids() == [3]


def test_column_types_are_widened_and_structs_get_new_fields(location: str, spark: SparkSession) -> None:
    def items(precision: int) -> Table:
        columns = {"n": {"data_type": "bigint", "precision": precision}}
        return Table.from_dict({"name": "items", "columns": columns})

    with open_iceberg_dataset(location, spark) as below:
        tables, own = below.tables, below.spark
        small = own.sql("SELECT CAST(1 AS INT) AS n, named_struct('x', 1L) AS at")
        tables.append(items(32), small, mark(1), spark=own)

        below.client.alter_table(items(64), items(32), {"n": ("INT", "BIGINT")})
        large = own.sql("SELECT 1099511627776L AS n, named_struct('x', 2L, 'y', 'b') AS at")
        tables.append(items(64), large, mark(2), spark=own)

        result = tables.read("items", spark=own).orderBy("n").collect()
        assert [tuple(row["at"]) for row in result] == [(1, None), (2, "b")]
        assert [row["n"] for row in result] == [1, 1099511627776]


@pytest.mark.at_length
def test_a_merge_writes_delete_files_or_rewrites_data_files(lake: Lake) -> None:
    lake.run([{"id": 1, "n": "a"}, {"id": 2, "n": "b"}], {"merge_mode": "merge-on-read"}, **UPSERT)
    info = lake.run([{"id": 2, "n": "B"}, {"id": 3, "n": "c"}], {"merge_mode": "merge-on-read"}, **UPSERT)
    summary = lake.metadata()["snapshots"][-1]["summary"]
    lake.run([{"id": 3, "n": "C"}], {"merge_mode": "copy-on-write"}, **UPSERT)

    assert summary["added-position-delete-files"] == "1"
    assert "added-position-delete-files" not in lake.metadata()["snapshots"][-1]["summary"]
    assert [table.rows for table in info.packages[0].tables if table.table == "items"] == [2]
    rows = lake.pipeline().dataset()["items"].arrow().to_pylist()
    assert sorted((row["id"], row["n"]) for row in rows) == [(1, "a"), (2, "B"), (3, "C")]


@pytest.mark.at_length
def test_maintenance_keeps_the_compacted_table_and_its_last_load(lake: Lake) -> None:
    tidy = {
        "optimize": True,
        "expire_hours": 0,
        "table_properties": {"write.metadata.previous-versions-max": 3},
    }

    for item in range(6):
        lake.run([{"id": item}], tidy)

    result = lake.metadata()
    heads = {name: ref["snapshot-id"] for name, ref in result["refs"].items()}
    (last,) = heads.keys() - {"main"}
    assert last.endswith("_6")
    assert {item["snapshot-id"] for item in result["snapshots"]} == set(heads.values())
    (now,) = (item for item in result["snapshots"] if item["snapshot-id"] == heads["main"])
    # Iceberg compacts five files or more.
    assert now["summary"]["total-data-files"] == "2"
    assert lake.ids() == [0, 1, 2, 3, 4, 5]


def test_readers_see_the_version_of_the_last_complete_load(
    lake: Lake, location: str, spark: SparkSession
) -> None:
    lake.run([{"id": 1}])
    with open_iceberg_dataset(location, spark) as below:
        below.append(7, load=mark(9, "other"))

        before = lake.ids()
        below.expire_all()
        after = lake.ids()
        everything = lake.pipeline().dataset(consistent=False)["items"].arrow().to_pylist()

    assert (before, after) == ([1], [1])
    assert sorted(row["id"] for row in everything) == [1, 7]


@pytest.mark.at_length
def test_reading_an_expired_version_is_an_error(lake: Lake, location: str, spark: SparkSession) -> None:
    # Without a branch of the load, which would keep it.
    lake.run([{"id": 1}], {"commits": "direct"})
    with open_iceberg_dataset(location, spark, commits="direct") as below:
        below.append(7, load=mark(9, "other"))
        dataset = lake.pipeline({"commits": "direct"}).dataset()
        assert dataset["items"].count() == 1

        below.expire_all()

    with pytest.raises(TableVersionGone):
        dataset["items"].fetchall()


@pytest.fixture
def lakehouse(location: str, spark: SparkSession) -> Iterator[str]:
    """A catalog that the session has."""
    options = {
        "spark.sql.catalog.lakehouse": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lakehouse.type": "hadoop",
        "spark.sql.catalog.lakehouse.warehouse": f"{location}/named",
    }
    for key, value in options.items():
        spark.conf.set(key, value)
    yield "lakehouse"
    for key in options:
        spark.conf.unset(key)


@pytest.mark.at_length
def test_a_catalog_of_the_session_is_used_by_its_name(
    lake: Lake, lakehouse: str, spark: SparkSession
) -> None:
    before = dict(spark.conf.getAll)

    for item in range(2):
        lake.run([{"id": item}], {"catalog": lakehouse})
    result = [row["id"] for row in spark.table("lakehouse.demo.items").collect()]
    read = lake.pipeline({"catalog": lakehouse}).dataset()["items"].arrow().to_pylist()

    assert sorted(result) == sorted(row["id"] for row in read) == [0, 1]
    assert dict(spark.conf.getAll) == before
