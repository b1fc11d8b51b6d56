"""Properties of Delta tables: partitions, clustering, settings, column types, files."""

from __future__ import annotations

import logging
import shutil
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises

import penstock
from penstock.destinations.delta.maintenance import DeltaMaintenance
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.errors import DestinationTerminalException
from penstock.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from penstock.destinations.delta.adapter import DeltaClient

WIDENING: dict[str, Any] = {"delta.enableTypeWidening": True}
REPLACE: dict[str, Any] = {"write_disposition": "replace"}


class Lake:
    """One dataset, and a session with Delta that inspects its tables."""

    def __init__(self, location: str, tmp_path: Path, spark: SparkSession, own: SparkSession) -> None:
        self.location, self._folder, self._spark, self.own = location, tmp_path, spark, own

    def run(self, rows: Any, settings: dict[str, Any] | None = None, **hints: Any) -> Any:
        more = {"additional_table_hints": hints.pop("table_hints", None)}
        resource = penstock.resource(list(rows), name="items", **hints)
        resource.apply_hints(**more)
        return self.pipeline(settings).run(resource)

    def pipeline(self, settings: dict[str, Any] | None = None) -> penstock.Pipeline:
        return penstock.pipeline(
            "breadth",
            pipelines_dir=self._folder / "pipelines",
            destination=penstock.destinations.delta(bucket_url=self.location, **(settings or {})),
            dataset_name="demo",
            spark=self._spark,
        )

    def client(self) -> DeltaClient:
        config = DeltaConfiguration(bucket_url=self.location, dataset_name="demo")
        return DELTA.client(Schema("breadth"), config, spark=self.own)

    def detail(self, table: str = "items") -> Row:
        return self.own.sql(f"DESCRIBE DETAIL {self.client().tables.sql_name(table)}").collect()[0]

    def operations(self, table: str = "items") -> list[str]:
        history = self.own.sql(f"DESCRIBE HISTORY {self.client().tables.sql_name(table)}").collect()
        return [row["operation"] for row in reversed(history)]

    def ids(self) -> list[Any]:
        return sorted(row["id"] for row in self.pipeline().dataset()["items"].arrow().to_pylist())


@pytest.fixture
def lake(location: str, tmp_path: Path, spark: SparkSession, own: SparkSession) -> Lake:
    return Lake(location, tmp_path, spark, own)


@pytest.mark.at_length
def test_a_replace_takes_all_partitions_where_the_users_session_overwrites_single_ones(
    location: str, tmp_path: Path, spark: SparkSession, own: SparkSession
) -> None:
    mode = "spark.sql.sources.partitionOverwriteMode"
    session = spark.newSession()
    session.conf.set(mode, "dynamic")
    lake = Lake(location, tmp_path, session, own)
    day: dict[str, Any] = {"columns": {"day": {"data_type": "text", "partition": True}}}

    lake.run([{"id": 1, "day": "m"}, {"id": 2, "day": "t"}], **day)
    lake.run([{"id": 3, "day": "t"}], **day, **REPLACE)

    assert lake.ids() == [3]
    assert (session.conf.get(mode) or "").lower() == "dynamic"


def test_table_hints_apply_from_the_first_row_and_after_a_replace(lake: Lake) -> None:
    hints: dict[str, Any] = {
        "columns": {"day": {"data_type": "text", "partition": True}},
        "table_hints": {"x-table-properties": {"team": "shop"}},
    }

    lake.run([{"id": 1, "day": "m"}, {"id": 2, "day": "t"}], **hints)
    first = lake.detail()
    info = lake.run([{"id": 3, "day": "t"}], **hints, **REPLACE)
    after = lake.detail()

    assert (first["partitionColumns"], first["properties"]["team"]) == (["day"], "shop")
    assert (after["partitionColumns"], after["properties"], after["id"]) == (
        first["partitionColumns"],
        first["properties"],
        first["id"],
    )
    assert lake.operations() == ["CREATE TABLE", "WRITE", "WRITE"]
    assert lake.ids() == [3]
    assert [(table.rows, table.version) for table in info.packages[0].tables if table.table == "items"] == [
        (1, 2)
    ]


@pytest.mark.at_length
def test_the_load_that_creates_a_table_has_no_previous_version(lake: Lake) -> None:
    lake.run([{"id": 1}], {"table_properties": {"team": "shop"}})

    commit = lake.pipeline().dataset()["_dlt_loads"].arrow().to_pylist()[0]
    client = lake.client()
    with client:
        result = client.ledger().find_commit(schema_name="breadth", load_id=commit["load_id"])

    assert result is not None
    assert result.tables["items"] == {"before": None, "after": 1, "rows": 1}


@pytest.mark.at_length
def test_the_clustering_columns_of_a_table_may_change(lake: Lake) -> None:
    lake.run([{"id": 1, "day": "m"}], columns={"day": {"data_type": "text", "cluster": True}})
    first = lake.detail()["clusteringColumns"]
    lake.run([{"id": 2, "day": "t"}], columns={"day": {"cluster": False}, "id": {"cluster": True}})

    second = lake.detail()["clusteringColumns"]
    lake.run([{"id": 3}], **REPLACE)

    assert (first, second, lake.detail()["clusteringColumns"]) == (["day"], ["id"], ["id"])
    assert lake.ids() == [3]


@pytest.mark.at_length
def test_table_properties_follow_the_settings_without_needless_commits(lake: Lake) -> None:
    lake.run([{"id": 1, "tags": ["x"]}])
    for hours in (48, 48, 72):
        options = {"delta.deletedFileRetentionDuration": f"interval {hours} hours"}
        lake.run([{"id": 2, "tags": ["x"]}], {"table_properties": options})

    remaining = [
        lake.detail(table)["properties"]["delta.deletedFileRetentionDuration"]
        for table in ("items", "items__tags")
    ]
    assert remaining == ["interval 72 hours"] * 2
    assert lake.operations().count("SET TBLPROPERTIES") == 2


@pytest.mark.at_length
def test_column_types_are_widened_where_the_table_allows_it(lake: Lake) -> None:
    settings = {"table_properties": WIDENING}

    lake.run([{"id": 1}], settings)
    lake.run([{"id": 2.5}, {"id": 2**80}], settings)
    lake.run([{"id": 3}], settings, primary_key="id", write_disposition="merge")

    assert lake.ids() == [1, Decimal("2.5"), 3, 2**80]
    assert "id__v_double" not in lake.pipeline().dataset()["items"].arrow().column_names


@pytest.mark.at_length
def test_files_are_compacted_and_old_ones_deleted_after_a_load(lake: Lake) -> None:
    settings = {"optimize": True, "vacuum_hours": 0, "allow_short_vacuum": True}
    for number in range(3):
        lake.run([{"id": number}], settings)

    rows = lake.client().tables.read("items", spark=lake.own)
    on_disk = list(Path(lake.location).glob("demo/items/**/*.parquet"))

    assert (lake.ids(), len(rows.inputFiles()), len(on_disk)) == ([0, 1, 2], 1, 1)


def test_failed_maintenance_is_reported_and_does_not_fail_the_run(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    upkeep = DeltaMaintenance(tables=lake.client().tables, optimize=True, vacuum_hours=200)

    with caplog.at_level(logging.WARNING, logger="penstock"):
        upkeep.run(["none"], "1.0", spark=lake.own)

    output = [record.getMessage().split(":")[0] for record in caplog.records]
    assert output == ["OPTIMIZE of none failed", "VACUUM of none failed"]


def test_tables_are_read_in_a_session_without_their_catalog(
    lake: Lake, spark: SparkSession, own: SparkSession, tmp_path: Path
) -> None:
    lake.run([{"id": 1}])
    # At an address that no session of this process has used.
    moved = str(shutil.copytree(lake.location, tmp_path / "moved"))
    before = spark.conf.getAll

    rows = Lake(moved, tmp_path, spark, own).client().tables.read("items", spark=spark)

    assert rows.count() == 1
    assert spark.conf.getAll == before


@pytest.mark.at_length
def test_files_have_the_configured_size(lake: Lake) -> None:
    lake.run([{"id": number} for number in range(10)], {"target_file_size": 64 * 1024 * 1024})

    assert lake.detail()["numFiles"] == 1


@pytest.mark.at_length
def test_a_table_can_be_truncated_and_dropped(lake: Lake) -> None:
    lake.run([{"id": 1, "tags": ["x"]}])
    client = lake.client()

    with client:
        client.initialize_storage(truncate_tables=["items", "none"])
        client.drop_tables("items__tags", "none")

    assert lake.ids() == []
    assert client.table_names() == ("items",)


def test_a_table_of_a_filesystem_destination_keeps_its_table_format(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = penstock.pipeline(
        "bucket",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.filesystem(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )

    pipeline.run([{"id": 1}], table_name="items", table_format="delta")
    # The table keeps its format.
    pipeline.run([{"id": 2}], table_name="items")

    assert (Path(location) / "demo" / "items" / "_delta_log").is_dir()
    assert pipeline.dataset().row_counts() == {"items": 2}


def test_the_error_names_a_catalog_that_the_session_does_not_have(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    pipeline = penstock.pipeline(
        "nowhere",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(bucket_url=location, catalog="nowhere"),
        dataset_name="demo",
        spark=spark,
    )

    with step_raises(DestinationTerminalException, match=r"`nowhere`\.`demo`") as refused:
        pipeline.run([{"id": 1}], table_name="items")

    assert "spark.sql.catalog.nowhere" in (refused.value.hint or "")
