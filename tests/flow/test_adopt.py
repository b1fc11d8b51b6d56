"""Adoption of tables that Spark wrote: a stream from files, and a batch job whose rows are merged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.flow.factories import make_pipeline

import penstock
from penstock.sources.filesystem import files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NAMES = ("plain", "with blank", "per%20cent", "plus+", "ümlaut")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def stream(spark: SparkSession, raw: Path, table: str, checkpoint: Path) -> None:
    """Load the new files of a folder into a Delta table by Structured Streaming."""
    rows = spark.readStream.schema("id STRING, name STRING").option("header", "true").csv(str(raw))
    writer = rows.writeStream.format("delta").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start(table).awaitTermination()


def add_file(raw: Path, name: str, number: int) -> None:
    raw.mkdir(parents=True, exist_ok=True)
    (raw / f"{name}.csv").write_text(f"id,name\n{number},{name}\n", encoding="utf-8")


def test_a_stream_from_files_is_continued_by_a_resource_of_files(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    raw, checkpoint = Path(location) / "raw", tmp_path / "checkpoint"
    for number, name in enumerate(NAMES):
        add_file(raw, name, number)
        stream(other, raw, f"{location}/demo/orders", checkpoint)
    add_file(raw, "new", 99)
    pipeline = make_pipeline(location, tmp_path, spark)

    adoption = pipeline.adopt("orders", checkpoint=str(checkpoint), files=str(raw))
    for _ in range(2):
        pipeline.run(files(str(raw), file_glob="**/*.csv", name="orders"))

    assert adoption.files is not None
    assert (len(adoption.files.files.read), len(adoption.files.files.unread)) == (len(NAMES), 1)
    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert sorted(row["name"] for row in rows) == sorted([*NAMES, "new"])


def test_rows_of_a_batch_job_are_merged_by_the_next_run(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    old = [(number, "old", NOON + timedelta(seconds=number)) for number in range(5)]
    frame = other.createDataFrame(old, "id LONG, name STRING, updated_at TIMESTAMP")
    frame.write.format("delta").save(f"{location}/demo/orders")
    new = [
        {"id": 4, "name": "old", "updated_at": NOON + timedelta(seconds=4)},
        {"id": 1, "name": "new", "updated_at": NOON + timedelta(seconds=9)},
        {"id": 7, "name": "new", "updated_at": NOON + timedelta(seconds=9)},
    ]

    @penstock.resource(primary_key="id", write_disposition="merge")
    def orders(updated_at: Any = penstock.sources.incremental("updated_at")) -> Iterator[Any]:
        yield new

    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    info = pipeline.run(orders)

    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert {row["id"]: row["name"] for row in rows} == {
        0: "old",
        1: "new",
        2: "old",
        3: "old",
        4: "old",
        7: "new",
    }
    assert len(rows) == 6
    assert [table.rows for package in info.packages for table in package.tables] == [2]
