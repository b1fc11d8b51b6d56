"""Cursors over DataFrames: new rows, the last value, and rows at the boundary."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.interfaces.frame_engine import FrameBounds
from penstock.spark.cursor import (
    MISSING,
    aggregates,
    aggregates_from_files,
    boundary_hashes,
    new_rows,
    observation,
)
from penstock.spark.frame_writer import write_frame
from penstock.spark.observation import observe_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def numbers(spark: SparkSession) -> DataFrame:
    """Return a frame with columns of all types, under names that files cannot have."""
    return spark.range(10).select(
        "id",
        (F.col("id") % 5).alias("odd `n`.x"),
        F.struct(F.col("id").alias("Odd Name"), F.array(F.struct(F.lit(1.5).alias("ß")))).alias("S"),
        F.create_map(F.lit("k"), F.timestamp_micros(F.col("id"))).alias("map"),
        F.lit(None).alias("nothing"),
        F.lit("x").cast("binary").alias("b"),
    )


def ids(frame: DataFrame) -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


@pytest.mark.every_mode
@pytest.mark.parametrize(
    ("options", "result"),
    [
        ({}, list(range(10))),
        ({"start": 3}, [3, 4, 8, 9]),
        ({"start": 3, "is_start_open": True}, [4, 9]),
        ({"start": 1, "end": 3}, [1, 2, 6, 7]),
        ({"start": 1, "end": 3, "is_end_open": False}, [1, 2, 3, 6, 7, 8]),
        ({"start": 3, "end": 1, "is_max": False}, [2, 3, 7, 8]),
        ({"start": 1, "is_max": False}, [0, 1, 5, 6]),
    ],
)
def test_rows_within_the_bounds_are_new(
    spark: SparkSession, options: dict[str, Any], result: list[int]
) -> None:
    bounds = FrameBounds(column="odd `n`.x", **options)

    assert ids(new_rows(numbers(spark), bounds)) == result


@pytest.mark.every_mode
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("bigint", 1, 2),
        ("double", 1.5, 2.5),
        ("string", "a", "b"),
        ("timestamp", NOON, NOON + timedelta(microseconds=1)),
        ("timestamp_ntz", datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)),
        ("date", date(2024, 1, 1), date(2024, 1, 2)),
        ("decimal(20,5)", Decimal("1.10000"), Decimal("1.20000")),
        ("binary", b"a", b"b"),
    ],
)
def test_cursor_values_round_trip_in_any_time_zone(
    spark: SparkSession, location: str, kind: str, low: Any, high: Any
) -> None:
    frame = typed(spark, kind, low, high)
    bounds = FrameBounds(column="n")
    watched, seen = observe_frame(frame, aggregates(frame, bounds))
    watched.write.parquet(f"file://{location}/out")

    last = observation(seen.values() or {}, frame, bounds).last_value

    assert (last, type(last)) == (high, type(high))
    assert ids(new_rows(frame, FrameBounds(column="n", start=last))) == [2, 3]
    assert ids(new_rows(frame, FrameBounds(column="n", start=last, is_start_open=True))) == []
    assert ids(new_rows(frame, FrameBounds(column="n", start=low, end=high))) == [1]


def typed(spark: SparkSession, kind: str, low: Any, high: Any) -> DataFrame:
    def column(value: Any) -> Any:
        if kind == "timestamp":
            return F.timestamp_micros(F.lit(int(value.timestamp()) * 1_000_000 + value.microsecond))
        text = value.decode() if isinstance(value, bytes) else str(value)
        return F.lit(text).cast(kind)

    return spark.range(1, 4).select(
        "id", F.when(F.col("id") == 1, column(low)).otherwise(column(high)).alias("n")
    )


@pytest.mark.every_mode
@pytest.mark.parametrize("key", [("id",), None])
def test_rows_at_the_boundary_are_recognized(
    spark: SparkSession, location: str, key: tuple[str, ...] | None
) -> None:
    bounds = FrameBounds(column="odd `n`.x", key=key)
    frame = numbers(spark)
    first = write_frame(frame.filter("id < 8"), f"{location}/first")
    seen = observation(aggregates_from_files(frame, first, bounds), frame, bounds)

    existing = list(boundary_hashes(frame, first, bounds, seen.last_value))
    later = FrameBounds(column="odd `n`.x", key=key, start=4)

    assert (seen.last_value, len(existing), len(existing[0])) == (4, 1, 9)
    assert ids(new_rows(frame, later, known_hashes=existing)) == [9]
    assert new_rows(frame, later, known_hashes=existing).columns == frame.columns


def test_rows_at_the_boundary_are_recognized_if_the_files_have_wider_numbers(
    spark: SparkSession, location: str
) -> None:
    bounds = FrameBounds(column="n", key=None)
    frame = spark.sql("SELECT id, CAST(id % 3 AS SMALLINT) AS n, CAST(id / 3 AS FLOAT) AS x FROM range(9)")
    first = write_frame(
        frame.filter("id < 6"), f"{location}/first", system_columns={"_dlt_id": "CAST(rand() AS STRING)"}
    )
    seen = observation(aggregates_from_files(frame, first, bounds), frame, bounds)

    existing = list(boundary_hashes(frame, first, bounds, seen.last_value))

    assert (first.has_system_columns, seen.last_value, len(existing)) == (True, 2, 2)
    assert ids(new_rows(frame, FrameBounds(column="n", start=2), known_hashes=existing)) == [8]


@pytest.mark.every_mode
@pytest.mark.parametrize(
    ("missing", "result"), [("raise", [1, 2, 3]), ("include", [1, 2, 3]), ("exclude", [2, 3])]
)
def test_rows_without_a_value_are_counted_or_left_out(
    spark: SparkSession, location: str, missing: Any, result: list[int]
) -> None:
    frame = spark.range(1, 4).select("id", F.when(F.col("id") > 1, F.col("id")).alias("n"))
    bounds = FrameBounds(column="n", start=2, on_missing=missing)
    rows = new_rows(frame, bounds)
    watched, seen = observe_frame(rows, aggregates(rows, bounds))

    watched.write.parquet(f"file://{location}/out")

    assert ids(rows) == result
    assert (seen.values() or {})[MISSING] == result.count(1)


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("bigint", "a"),
        ("bigint", NOON),
        ("string", 1),
        ("timestamp", "a"),
        ("timestamp_ntz", 1),
        ("date", NOON),
    ],
)
def test_a_bound_of_another_type_is_refused(spark: SparkSession, kind: str, start: Any) -> None:
    frame = spark.range(1).select(F.lit(None).cast(kind).alias("n"))

    with pytest.raises(TypeError, match=f"cannot be compared with a column of {kind}"):
        new_rows(frame, FrameBounds(column="n", start=start))
