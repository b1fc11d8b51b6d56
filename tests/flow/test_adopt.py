"""Adoption of tables that Spark wrote: Delta tables by path, and Iceberg tables, which Spark describes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import MODE
from tests.doc_blocks import DocBlock, doc_blocks
from tests.flow.factories import make_pipeline, new_session
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.errors import UsageError
from penstock.sources.filesystem import files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PAGE = "docs/how-to/adopt.md"
NAMES = ("plain", "with blank", "per%20cent", "plus+", "ümlaut")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def stream(spark: SparkSession, raw: Path, table: str, checkpoint: Path) -> None:
    """Load the new files of a folder into a Delta table by Structured Streaming."""
    rows = spark.readStream.schema("id STRING, name STRING").option("header", "true").csv(str(raw))
    writer = rows.writeStream.format("delta").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start(table).awaitTermination()


def page_block(text: str) -> DocBlock:
    """Return the only block of the page with a text."""
    (block,) = (block for block in doc_blocks(PAGE) if text in block.text)
    return block


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


def test_the_page_shows_a_stream_from_files(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing, folder = Path(location) / "landing", f"{location}/lake/raw"
    add_file(landing / "orders", "read", 1)
    stream(other, landing / "orders", f"{folder}/orders", Path(location) / "lake/checkpoints/orders")
    add_file(landing / "orders", "new", 2)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    shell, program = page_block("--checkpoint"), page_block("checkpoint=")
    lake = penstock.destinations.delta(f"{location}/lake")
    pipeline = penstock.pipeline("python", destination=lake, dataset_name="raw", spark=spark)
    (_, *words), text = shell.commands[0], program.text.replace("s3://", f"{location}/")

    shown = CliRunner().invoke(app, [*(word.replace("s3://", f"{location}/") for word in words)])
    exec(text, {"pipeline": pipeline, "files": files})

    assert shown.exit_code == 0, shown.output
    assert "(1), and none that" in shown.stdout
    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert sorted(row["name"] for row in rows) == ["new", "read"]


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


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


class Orders:
    """A resource that yields the rows from the start value on, and counts them."""

    def __init__(self, rows: list[dict[str, Any]], disposition: Any = "append") -> None:
        self.requested = 0

        def orders(updated_at: Any = penstock.sources.incremental("updated_at")) -> Iterator[Any]:
            new = [row for row in rows if row["updated_at"] >= updated_at.start_value]
            self.requested += len(new)
            yield new

        self.resource = penstock.resource(
            orders, name="orders", primary_key="id", write_disposition=disposition
        )


@pytest.fixture
def writer(spark: SparkSession, location: str) -> SparkSession:
    """The session of another program, with the folder as the warehouse of its own Iceberg catalog."""
    session = new_session(
        spark,
        {
            "spark.sql.catalog.theirs": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.theirs.type": "hadoop",
            "spark.sql.catalog.theirs.warehouse": location,
        },
    )
    session.sql("CREATE NAMESPACE IF NOT EXISTS theirs.demo")
    return session


def write_orders(writer: SparkSession, *, ddl: str = "id BIGINT", clause: str = "") -> None:
    """Write five rows in two commits; the last two have the greatest value of the cursor."""
    writer.sql(
        f"CREATE TABLE theirs.demo.orders ({ddl}, name STRING, updated_at TIMESTAMP) USING iceberg {clause}"
    )
    rows = [(number, f"order {number}", at(min(number, 4))) for number in range(1, 6)]
    for part in (rows[:3], rows[3:]):
        frame = writer.createDataFrame(part, "id LONG NOT NULL, name STRING, updated_at TIMESTAMP")
        frame.coalesce(1).writeTo("theirs.demo.orders").append()


def iceberg_pipeline(location: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return make_pipeline(location, tmp_path, spark, destination=penstock.destinations.iceberg)


def test_an_iceberg_table_is_continued_in_place(
    spark: SparkSession, writer: SparkSession, location: str, tmp_path: Path
) -> None:
    write_orders(writer)
    pipeline = iceberg_pipeline(location, tmp_path, spark)
    plan = pipeline.adopt("orders", cursor="updated_at", primary_key="id", dry_run=True).asdict()
    is_new = pipeline.first_run
    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id").asdict()
    source = [{"id": number, "name": f"order {number}", "updated_at": at(4)} for number in (4, 5, 6)]
    orders = Orders(source)

    infos = [pipeline.run(orders.resource) for _ in range(2)]

    assert is_new
    assert {**adoption, "load_id": None} == plan
    assert (plan["rows"], plan["location"]) == (5, f"{location}/demo")
    assert plan["cursor"] == {
        "column": "updated_at",
        "path": "updated_at",
        "last_value": "2026-05-01T12:00:04+00:00",
        "rows_at_last_value": 2,
    }
    loaded = [[table.rows for package in info.packages for table in package.tables] for info in infos]
    assert loaded == [[1], []]
    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert sorted((row["id"], row["_dlt_id"] is None) for row in rows) == [
        *((number, True) for number in range(1, 6)),
        (6, False),
    ]
    history = writer.sql("SELECT snapshot_id FROM theirs.demo.orders.history ORDER BY made_current_at")
    assert [row[0] for row in history.collect()][1] == plan["version"]


def test_rows_are_merged_into_a_partitioned_iceberg_table_with_required_columns(
    spark: SparkSession, writer: SparkSession, location: str, tmp_path: Path
) -> None:
    write_orders(writer, ddl="id BIGINT NOT NULL", clause="PARTITIONED BY (days(updated_at), bucket(2, id))")
    new = [
        {"id": 5, "name": "order 5", "updated_at": at(4)},
        {"id": 1, "name": "changed", "updated_at": at(9)},
        {"id": 7, "name": "new", "updated_at": at(9)},
    ]
    pipeline = iceberg_pipeline(location, tmp_path, spark)

    pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    info = pipeline.run(Orders(new, "merge").resource)

    table = pipeline.default_schema.tables["orders"]
    assert table.to_dict()["x-iceberg-partition"] == [  # type: ignore[typeddict-item]  # a key of dlt's
        {"transform": "day", "source_column": "updated_at"},
        {"transform": "bucket", "source_column": "id", "param_value": 2},
    ]
    assert table.columns["id"].nullable is False
    assert [table.rows for package in info.packages for table in package.tables] == [2]
    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert sorted((row["id"], row["name"]) for row in rows) == [
        (1, "changed"),
        *((number, f"order {number}") for number in range(2, 6)),
        (7, "new"),
    ]


def test_iceberg_tables_that_loads_cannot_continue_are_refused(
    spark: SparkSession, writer: SparkSession, location: str, tmp_path: Path
) -> None:
    writer.sql(
        "CREATE TABLE theirs.demo.orders USING iceberg AS SELECT * FROM VALUES "
        "(1L, TIMESTAMP '2026-05-01', 1.0D), (2L, NULL, double('NaN')) AS rows(id, at, weight)"
    )
    writer.sql("CREATE TABLE theirs.demo.floats (id FLOAT) USING iceberg")
    writer.sql("CREATE TABLE theirs.demo.nothing (id BIGINT) USING iceberg PARTITIONED BY (id)")
    pipeline = iceberg_pipeline(location, tmp_path, spark)
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("missing", {}, "there is no table"),
        ("orders", {"cursor": "at", "primary_key": "id"}, r"column at of table orders has nulls \(1\)"),
        ("orders", {"cursor": "weight", "primary_key": "id"}, "has NaN"),
        ("orders", {"cursor": "idd"}, "no column 'idd'"),
        ("floats", {}, "has type FLOAT, and loads write DOUBLE"),
    ]

    empty = pipeline.adopt("nothing", cursor="id", primary_key="id", dry_run=True)
    for table, options, problem in refused:
        with pytest.raises(UsageError, match=problem):
            pipeline.adopt(table, **options)

    assert pipeline.first_run
    assert (empty.table.version, empty.table.rows) == (None, 0)
    assert empty.table.columns["id"].has("partition")
    assert "reads from the initial value" in empty.notes[0]


@pytest.mark.at_length
def test_a_delta_table_of_a_catalog_is_continued(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    dataset = f"adopt_{uuid.uuid4().hex[:8]}"
    lake = penstock.destinations.delta(bucket_url=location, catalog="spark_catalog")
    pipeline = penstock.pipeline(
        "quick", pipelines_dir=tmp_path / "pipelines", destination=lake, dataset_name=dataset, spark=spark
    )
    other.sql(f"CREATE SCHEMA {dataset} LOCATION '{location}/tables'")
    frame = other.createDataFrame([(1, at(1)), (2, at(2))], "id LONG, updated_at TIMESTAMP")
    frame.write.format("delta").partitionBy("id").saveAsTable(f"{dataset}.orders")
    frame.write.format("parquet").saveAsTable(f"{dataset}.files")

    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    orders = Orders([{"id": number, "updated_at": at(number)} for number in (1, 2, 3)])
    pipeline.run(orders.resource)

    assert (adoption.table.version, adoption.table.rows, orders.requested) == (0, 2, 2)
    assert adoption.table.columns["id"].has("partition")
    with pytest.raises(UsageError, match="has no versions"):
        pipeline.adopt("files")
    assert sorted(pipeline.dataset()["orders"].arrow()["id"].to_pylist()) == [1, 2, 3]
    other.sql(f"DROP SCHEMA {dataset} CASCADE")


@pytest.mark.skipif(MODE != "local", reason="the page names a folder")
def test_the_page_shows_an_iceberg_table(
    writer: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = "SELECT 1L AS id, TIMESTAMP '2026-05-04 00:00:00+00:00' AS updated_at"
    writer.sql("CREATE NAMESPACE theirs.raw")
    writer.sql(f"CREATE TABLE theirs.raw.orders USING iceberg AS {query}")
    monkeypatch.chdir(Path(location).parent)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    block = page_block("destinations.iceberg")

    exec(block.text, {"penstock": penstock})

    version, *shown = capsys.readouterr().out.split(maxsplit=2)
    assert version.isdecimal()
    assert shown == ["1", "2026-05-04 00:00:00+00:00\n"]


@pytest.mark.at_length
def test_of_an_iceberg_table_with_a_million_rows_none_is_read_again(
    spark: SparkSession, writer: SparkSession, location: str, tmp_path: Path
) -> None:
    count, new_count = 1_000_000, 1_000
    seconds = int(NOON.timestamp())
    rows = writer.range(count).selectExpr("id", f"timestamp_seconds({seconds} + id) AS updated_at")
    rows.writeTo("theirs.demo.orders").create()
    source = [{"id": number, "updated_at": at(number)} for number in range(count + new_count)]
    pipeline = iceberg_pipeline(location, tmp_path, spark)

    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    before, after = Orders(source[:count]), Orders(source)
    pipeline.run(before.resource)
    unchanged = pipeline.dataset().row_counts()
    pipeline.run(after.resource)

    assert (adoption.table.rows, before.requested) == (count, 1)
    assert unchanged == {"orders": count}
    assert after.requested == new_count + 1
    assert pipeline.dataset().row_counts() == {"orders": count + new_count}
