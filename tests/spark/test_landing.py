"""DataFrames of a user's session become typed files, and the session is unchanged."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.ml.linalg import DenseVector
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.errors import StorageNotShared, UnsupportedColumnType, UnsupportedData, UsageError
from penstock.spark.frame_writer import send_rows, write_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from penstock.interfaces.frame_engine import FrameWriteResult


def read_back(spark: SparkSession, landed: FrameWriteResult) -> DataFrame:
    columns = StructType.fromJson(dict(landed.columns))
    return spark.read.schema(columns).parquet(f"file://{landed.address}")


def keys(landed: FrameWriteResult) -> dict[str, Any]:
    return {
        column["metadata"].get("key", column["name"]): column["type"] for column in landed.columns["fields"]
    }


def test_columns_are_written_with_their_types_under_safe_names(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        """SELECT 1 AS id, CAST(1 AS TINYINT) AS `a.b`, CAST(2.5 AS FLOAT) AS `we ird`, 'x' AS `q"``uote`,
           CAST(1.25 AS DECIMAL(10,2)) AS amount, TIMESTAMP '2024-05-06 07:08:09.123456 UTC' AS at,
           TIMESTAMP_NTZ '2024-05-06 07:08:09' AS wall, DATE '2024-05-06' AS day, X'00FF' AS raw,
           NULL AS nothing, named_struct('x', 1, 'none', NULL) AS s, array(NULL) AS nothings,
           map('k', 1) AS m, parse_json('{"a": [1]}') AS v, CAST('c' AS CHAR(3)) AS c, 'meta' AS _metadata,
           array(named_struct('y', 'z')) AS l, '' AS ``"""
    )

    landed = write_frame(frame, str(tmp_path / "out"))

    assert landed.rows == 1
    result = keys(landed)
    assert {key: kind for key, kind in result.items() if isinstance(kind, str)} == {
        "id": "integer",
        "a.b": "byte",
        "we ird": "float",
        'q"`uote': "string",
        "amount": "decimal(10,2)",
        "at": "timestamp",
        "wall": "timestamp_ntz",
        "day": "date",
        "raw": "binary",
        "v": "variant",
        "c": "string",
        "_metadata": "string",
        "": "string",
    }
    assert "nothing" not in result
    assert "nothings" not in result
    assert [item["name"] for item in result["s"]["fields"]] == ["x"]
    row = read_back(spark, landed).select("id", "s", "m", "l", F.expr("unix_micros(at)")).collect()[0]
    assert row.asDict(recursive=True) == {
        "id": 1,
        "s": {"x": 1},
        "m": {"k": 1},
        "l": [{"y": "z"}],
        "unix_micros(at)": 1714979289123456,
    }


def test_names_that_differ_in_case_only_are_both_kept(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.conf.get("spark.sql.caseSensitive") == "false"
    frame = spark.createDataFrame([(1, 2)], "a INT, b INT").toDF("key", "KEY")
    nested = spark.sql("SELECT from_json('{}', 'x INT') AS s").select(
        F.col("s").cast("struct<x:int>").alias("s")
    )

    landed = write_frame(frame, str(tmp_path / "out"))

    assert list(keys(landed)) == ["key", "KEY"]
    assert tuple(read_back(spark, landed).collect()[0]) == (1, 2)
    assert write_frame(nested, str(tmp_path / "nested")).rows == 1


@pytest.mark.parametrize(
    ("interval", "number"),
    [
        ("INTERVAL '-1 02:03:04.000005' DAY TO SECOND", -93784000005),
        ("INTERVAL '3' HOUR", 10_800_000_000),
        ("INTERVAL '1-2' YEAR TO MONTH", 14),
        ("INTERVAL '-5' MONTH", -5),
    ],
)
def test_intervals_become_numbers(spark: SparkSession, tmp_path: Path, interval: str, number: int) -> None:
    landed = write_frame(spark.sql(f"SELECT {interval} AS i"), str(tmp_path / "out"))

    assert keys(landed) == {"i": "long"}
    assert read_back(spark, landed).collect()[0][0] == number


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS a, 2 AS a", "column a of .*: duplicate name in the DataFrame"),
        ("SELECT named_struct('i', INTERVAL '1' DAY) AS s", r"column s.i of .* interval day"),
    ],
)
def test_a_column_of_an_unsupported_type_is_refused_by_its_name(
    spark: SparkSession, tmp_path: Path, query: str, message: str
) -> None:
    with pytest.raises(UnsupportedColumnType, match=message):
        write_frame(spark.sql(query), str(tmp_path / "out"))

    assert not (tmp_path / "out").exists()


def test_a_stream_is_refused_with_a_hint(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load()

    with pytest.raises(UnsupportedData, match="foreachBatch"):
        write_frame(stream, str(tmp_path / "out"))


def test_a_frame_without_columns_keeps_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    landed = write_frame(spark.range(3).select(), str(tmp_path / "out"))

    assert (landed.rows, landed.columns["fields"]) == (3, [])
    assert spark.read.schema("c BOOLEAN").parquet(f"file://{landed.address}").count() == 3


def test_a_hook_changes_the_frame_and_observes_it(spark: SparkSession, tmp_path: Path) -> None:
    class Largest:
        landed: FrameWriteResult | None = None

        def before(self, frame: DataFrame) -> tuple[DataFrame, Mapping[str, Column]]:
            return frame.where("id >= 5"), {"largest": F.max("id"), "smallest": F.min("id")}

        def after(self, landed: FrameWriteResult) -> None:
            self.landed = landed

    hook = Largest()

    landed = write_frame(spark.range(10), str(tmp_path / "out"), hook=hook)

    assert hook.landed == landed
    assert (landed.rows, landed.observed) == (5, {"largest": 9, "smallest": 5})


def test_the_error_names_a_folder_that_the_session_cannot_write_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StorageNotShared, match="not to the session of the DataFrame"):
        write_frame(spark.range(3), str(tmp_path / "file" / "out"))


def test_an_error_in_the_plan_of_the_user_is_raised_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_frame(spark.range(3).selectExpr("1 DIV (id - id)"), str(tmp_path / "out"))


def test_a_python_duration_becomes_a_number_too(spark: SparkSession, tmp_path: Path) -> None:
    landed = write_frame(spark.createDataFrame([(timedelta(seconds=2),)], ["d"]), str(tmp_path / "out"))

    assert read_back(spark, landed).collect()[0][0] == 2_000_000


def test_a_session_that_truncates_timestamps_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")

    with pytest.raises(UsageError, match="without microseconds"):
        write_frame(session.sql("SELECT array(current_timestamp()) AS at"), str(tmp_path / "out"))

    assert write_frame(session.range(1), str(tmp_path / "out")).rows == 1


def test_values_of_a_user_defined_type_are_what_they_are_stored_as(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([(DenseVector([1.0, 2.0]),)], ["v"])

    landed = write_frame(frame, str(tmp_path / "out"))

    assert read_back(spark, landed).select("v.values").collect()[0][0] == [1.0, 2.0]


def test_rows_are_sent_into_one_folder_group_by_group(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    for number in range(3):
        send_rows(pa.table({"row": [f'{{"n": {number}}}'] * 10}), str(folder), spark=spark)

    assert len(list(folder.glob("*.parquet"))) == 3
    assert spark.read.parquet(f"file://{folder}").count() == 30


SYSTEM_COLUMNS = {"_dlt_load_id": "'17.5'", "_dlt_id": "CAST(monotonically_increasing_id() AS STRING)"}
FLAT_QUERY = (
    "SELECT CAST(id AS INT) AS id, CAST(id / 3 AS FLOAT) AS half, DATE '2024-05-06' AS day FROM range(9)"
)


def test_files_that_a_table_can_take_have_its_types_and_the_system_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql(FLAT_QUERY).repartition(3)

    landed = write_frame(frame, str(tmp_path / "out"), system_columns=SYSTEM_COLUMNS)

    assert (landed.rows, landed.has_system_columns) == (9, True)
    assert keys(landed) == {"id": "long", "half": "double", "day": "date"}
    files = spark.read.parquet(f"file://{landed.address}")
    assert dict(files.dtypes) == {
        "id": "bigint", "half": "double", "day": "date", "_dlt_load_id": "string", "_dlt_id": "string",
    }  # fmt: skip
    rows = files.collect()
    assert sorted((row["id"], row["half"]) for row in rows) == sorted(
        (row["id"], row["half"]) for row in frame.collect()
    )
    assert len({row["_dlt_id"] for row in rows}) == 9
    assert {row["_dlt_load_id"] for row in rows} == {"17.5"}


@pytest.mark.parametrize("mode", ["hook", "quarantine"])
def test_system_columns_are_computed_after_rows_are_left_out(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    class Observing:
        def before(self, frame: DataFrame) -> tuple[DataFrame, Mapping[str, Column]]:
            return frame.where("id >= 2"), {"largest": F.max("id")}

        def after(self, landed: FrameWriteResult) -> None:
            del landed

    frame = spark.sql(f"SELECT *, IF(id < 2, 'bad', NULL) AS refused FROM ({FLAT_QUERY})")
    address = str(tmp_path / "out")

    if mode == "hook":
        landed = write_frame(frame.drop("refused"), address, hook=Observing(), system_columns=SYSTEM_COLUMNS)
        assert landed.observed == {"largest": 8}
    else:
        landed = write_frame(frame, address, quarantine_column="refused", system_columns=SYSTEM_COLUMNS)
        assert landed.quarantined_rows == 2

    rows = spark.read.parquet(f"file://{landed.address}").collect()
    assert (landed.rows, landed.has_system_columns, len(rows)) == (7, True, 7)
    assert len({row["_dlt_id"] for row in rows}) == 7


@pytest.mark.parametrize(
    ("conf", "query", "has_system_columns"),
    [
        ({"datetimeRebaseModeInWrite": "LEGACY"}, FLAT_QUERY, False),
        ({"datetimeRebaseModeInWrite": "LEGACY"}, "SELECT 1 AS id", True),
        ({}, "SELECT current_timestamp() AS at", False),
        ({"outputTimestampType": "TIMESTAMP_MICROS"}, "SELECT current_timestamp() AS at", True),
    ],
    ids=["old calendar", "no dates", "no bounds", "bounds"],
)
def test_a_table_takes_no_files_with_the_old_calendar_or_without_bounds(
    spark: SparkSession, tmp_path: Path, conf: dict[str, str], query: str, has_system_columns: bool
) -> None:
    session = spark.newSession()
    for name, value in conf.items():
        session.conf.set(f"spark.sql.parquet.{name}", value)

    landed = write_frame(session.sql(query), str(tmp_path / "out"), system_columns=SYSTEM_COLUMNS)

    assert landed.has_system_columns == has_system_columns
    assert ("long" in keys(landed).values()) == (has_system_columns and "id" in keys(landed))
