"""Frames from extract to the dataset: typed files, or the same result as Python rows."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.flow.factories import make_pipeline, packages_of

import penstock
from penstock.errors import UsageError
from penstock.package import read_job
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.package import Package

ROWS = 200


def columns(frame: Any) -> dict[str, str]:
    return dict(frame.dtypes)


def content(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Return rows without the columns that differ from load to load."""
    plain = [name for name in frame.columns if not name.startswith("_dlt_") or name == "_dlt_list_idx"]
    return sorted((tuple(row) for row in frame.select(*plain).collect()), key=repr)


def expected_ids(package: Package) -> Iterator[str]:
    """Return the expected ids of a package: eighty bits of the hash of each row's position."""
    for folder in package.store.names("data/extracted"):
        inside = f"data/extracted/{folder}"
        for name in package.store.names(inside):
            if name.endswith(".parquet"):
                with package.store.open(f"{inside}/{name}") as stream:
                    rows = pq.read_metadata(stream).num_rows
                for position in range(rows):
                    place = f"{package.load_id}/{inside}/{name}/{position}"
                    digest = hashlib.sha256(place.encode()).digest()[:10]
                    yield base64.b64encode(digest).decode()[:14]


@pytest.mark.at_length
@pytest.mark.every_mode
def test_flat_frames_are_loaded_from_the_files_that_extract_wrote(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    """Normalize writes nothing; two frames of one table are two parts of a job, in their order."""
    pipeline = make_pipeline(location, tmp_path, spark)
    first = spark.sql(
        "SELECT id AS `Key No`, named_struct('x', id * 2) AS At, id % 3 = 0 AS ok FROM range(0, 90, 1, 3)"
    )
    then = spark.sql(
        "SELECT id AS `Key No`, named_struct('x', -1L) AS At, true AS ok FROM range(80, 100, 1, 1)"
    )
    merge: dict[str, Any] = {"write_disposition": "merge", "primary_key": "Key No"}

    @penstock.resource(name="seen", **merge)
    def frames() -> Iterator[DataFrame]:
        yield first
        yield then

    pipeline.extract(frames())
    info = pipeline.normalize()
    package = packages_of(location).with_status("normalized")[0]
    written = package.store.names("data")
    ids = set(expected_ids(package))
    pipeline.load()
    result = pipeline.dataset()["seen"].spark()

    assert written == ["extracted"]
    assert (info.packages[0].bytes_out, info.packages[0].row_counts) == (0, {"seen": 110})
    assert columns(result.drop("_dlt_load_id", "_dlt_id")) == {
        "key_no": "bigint",
        "at__x": "bigint",
        "ok": "boolean",
    }
    rows = {row["key_no"]: row["at__x"] for row in result.collect()}
    assert rows == {key: key * 2 if key < 80 else -1 for key in range(100)}
    assert len(ids) == 110
    assert len({row["_dlt_id"] for row in result.select("_dlt_id").collect()} & ids) == 100


@pytest.mark.handful
@pytest.mark.every_mode
def test_rows_arrow_tables_and_dataframes_are_loaded_into_the_same_tables(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    rows = list(nested_rows(ROWS))
    arrow = pa.Table.from_pylist(rows)
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(rows, table_name="a")
    pipeline.run(arrow, table_name="b")
    info = pipeline.run(spark.createDataFrame(arrow), table_name="c")

    assert {table.table: table.rows for table in info.packages[0].tables} == {
        "c": ROWS,
        "c__tags": 2 * ROWS,
        "c__parts": ROWS,
    }
    dataset = pipeline.dataset()
    for suffix in ("", "__tags", "__parts"):
        by_rows, *others = (dataset[f"{name}{suffix}"].spark() for name in "abc")
        for other in others:
            assert columns(other) == columns(by_rows)
            assert content(other) == content(by_rows)


@pytest.mark.every_mode
def test_a_resource_creates_frames_with_the_session_it_receives(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    lent: list[Any] = []

    @penstock.resource
    def numbers() -> Iterator[Any]:
        lent.append(penstock.current.spark())
        yield lent[0].range(5)
        lent.append(penstock.current.spark({"spark.sql.session.timeZone": "Asia/Tokyo"}))
        yield lent[1].sql("SELECT 7L AS id")

    before = spark.conf.get("spark.sql.session.timeZone")
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(numbers())

    result = pipeline.dataset()["numbers"].spark().collect()
    assert sorted(row["id"] for row in result) == [0, 1, 2, 3, 4, 7]
    assert spark not in lent
    assert lent[0] is not lent[1]
    assert spark.conf.get("spark.sql.session.timeZone") == before


def test_iterating_over_a_resource_provides_a_session_too(spark: SparkSession) -> None:
    @penstock.resource
    def numbers() -> Iterator[Any]:
        yield penstock.current.spark().range(2)

    (frame,) = numbers()
    assert frame.sparkSession is not spark
    assert frame.count() == 2


def test_children_of_a_dataframe_point_to_their_parents(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    frame = spark.range(50).select("id", F.array(F.col("id"), F.col("id") + 1).alias("numbers"))
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(frame, table_name="t")

    dataset = pipeline.dataset()
    parents = {row["_dlt_id"]: row["id"] for row in dataset["t"].spark().collect()}
    assert len(parents) == 50
    result = {
        (parents[row["_dlt_parent_id"]], row["_dlt_list_idx"], row["value"])
        for row in dataset["t__numbers"].spark().collect()
    }
    assert result == {(id_, index, id_ + index) for id_ in range(50) for index in range(2)}


@pytest.mark.every_mode
def test_the_session_of_a_dataframe_is_unchanged(
    compiled: SparkSession, location: str, tmp_path: Path
) -> None:
    compiled.range(3).createOrReplaceTempView("mine")

    def state() -> tuple[Any, ...]:
        return (
            dict(compiled.conf.getAll),
            {table.name for table in compiled.catalog.listTables()},
            compiled.catalog.currentCatalog(),
            compiled.catalog.currentDatabase(),
        )

    before = state()

    make_pipeline(location, tmp_path, compiled).run(compiled.table("mine"), table_name="theirs")

    assert state() == before
    compiled.catalog.dropTempView("mine")


@pytest.mark.every_mode
def test_timestamps_of_a_dataframe_do_not_shift(spark: SparkSession, location: str, tmp_path: Path) -> None:
    frame = spark.sql(
        """SELECT timestamp_micros(1714979289123456) AS at,
                  TIMESTAMP_NTZ '2024-05-06 07:08:09.123456' AS wall,
                  TIMESTAMP_NTZ '1883-11-18 12:00:00' AS old"""
    )
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(frame, table_name="t")

    result = pipeline.dataset()["t"].spark()
    assert {name: columns(result)[name] for name in ("at", "wall", "old")} == dict.fromkeys(
        ("at", "wall", "old"), "timestamp"
    )
    micros = result.select(*(F.unix_micros(name) for name in ("at", "wall", "old"))).collect()[0]
    old = datetime(1883, 11, 18, 12, tzinfo=UTC)
    assert tuple(micros) == (1714979289123456, 1714979289123456, round(old.timestamp()) * 1_000_000)


def test_a_job_refuses_a_session_of_another_time_zone(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.extract(spark.sql("SELECT TIMESTAMP_NTZ '2024-05-06 07:08:09' AS wall"), table_name="t")
    (load_id,) = pipeline.normalize().loads_ids
    (job,) = (
        item
        for item in pipeline.get_load_package_info(load_id).jobs["new_jobs"]
        if item.job_file_info.table_name == "t"
    )

    with pytest.raises(UsageError, match="America/New_York"):
        read_job(job.file_path).frame(spark)


@pytest.mark.at_length
def test_arrow_types_are_preserved(spark: SparkSession, location: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "small": pa.array([1], pa.int8()),
            "wide": pa.array([2**64 - 1], pa.uint64()),
            "half": pa.array([1.5], pa.float16()),
            "amount": pa.array([Decimal("12.34")], pa.decimal128(10, 2)),
            "moment": pa.array([1_714_979_289_123_456_789], pa.timestamp("ns", "Europe/Berlin")),
            "naive": pa.array([1_714_979_289_123_456], pa.timestamp("us")),
            "day": [date(2024, 5, 6)],
            "hour": pa.array([time(7, 8, 9)], pa.time64("ns")),
            "raw": pa.array([b"\x00\xff"], pa.binary(2)),
            "word": pa.array(["x"]).dictionary_encode(),
            "mapped": pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int32())),
            "nothing": pa.nulls(1),
            "A": [1],
            "a": [2],
            'odd. `name"': [3],
            "file": ["f"],
            "position": [5],
            "_metadata": ["m"],
        }
    )
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(table, table_name="typed")

    frame = pipeline.dataset()["typed"].spark()
    types = columns(frame)
    a_second = next(name for name in types if name.startswith("a_"))
    assert {name: kind for name, kind in types.items() if not name.startswith("_dlt")} == {
        "small": "bigint",
        "wide": "decimal(20,0)",
        "half": "double",
        "amount": "decimal(10,2)",
        "moment": "timestamp",
        "naive": "timestamp",
        "day": "date",
        "hour": "string",
        "raw": "binary",
        "word": "string",
        "mapped": "string",
        "a": "bigint",
        a_second: "bigint",
        "odd_namex": "bigint",
        "file": "string",
        "position": "bigint",
        "_metadata": "string",
    }
    row = frame.selectExpr(
        "*", "unix_micros(moment) AS m1", "unix_micros(naive) AS m2", "date_format(day, 'yyyy-MM-dd') AS d"
    ).collect()[0]
    assert (row["m1"], row["m2"], row["d"]) == (1714979289123456, 1714979289123456, "2024-05-06")
    assert (row["wide"], row["amount"], row["hour"]) == (Decimal(2**64 - 1), Decimal("12.34"), "07:08:09")
    assert (row["mapped"], row["a"], row[a_second]) == ('{"a":1,"b":null}', 1, 2)
    assert (row["file"], row["position"], row["_metadata"]) == ("f", 5, "m")


def test_rows_and_frames_of_one_table_are_one_commit(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource
    def items() -> Iterator[Any]:
        yield {"id": 1, "name": "row", "tags": ["x"]}
        yield pa.table({"id": [2, 3], "tags": [["y", "z"], None], "price": [Decimal("1.5"), None]})
        yield pd.DataFrame({"id": ["four"], "name": ["text"]})
        yield spark.range(5, 6).withColumn("name", F.lit("spark"))
        yield spark.range(6, 7)

    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run(items)

    assert {table.table: (table.rows, table.version) for table in info.packages[0].tables} == {
        "items": (6, 0),
        "items__tags": (3, 0),
    }
    rows = pipeline.dataset()["items"].spark().select("id", "id__v_text", "name", "price").collect()
    assert sorted((tuple(row) for row in rows), key=repr) == sorted(
        [
            (1, None, "row", None),
            (2, None, None, Decimal("1.5")),
            (3, None, None, None),
            (None, "four", "text", None),
            (5, None, "spark", None),
            (6, None, None, None),
        ],
        key=repr,
    )


@pytest.mark.at_length
def test_a_column_of_another_type_gets_a_variant_and_digits_that_fit_do_not(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"n": 1, "d": Decimal("1.5"), "x": 1.5}], table_name="t")

    pipeline.run(
        pa.table(
            {
                "n": ["text"],
                "d": pa.array([Decimal("2.25")], pa.decimal128(5, 2)),
                "x": pa.array([7], pa.int32()),
            }
        ),
        table_name="t",
    )

    frame = pipeline.dataset()["t"].spark()
    rows = sorted((tuple(row) for row in frame.select("n", "n__v_text", "d", "x").collect()), key=repr)
    assert rows == [(1, None, Decimal("1.500000000"), 1.5), (None, "text", Decimal("2.250000000"), 7.0)]


@pytest.mark.at_length
def test_rows_of_frames_without_columns_or_values_are_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(pa.table({"a": pa.nulls(2)}), table_name="t")
    pipeline.run(spark.range(3).select(), table_name="t")
    pipeline.run(spark.sql("SELECT NULL AS a"), table_name="t")

    assert pipeline.dataset().row_counts() == {"t": 6}


@pytest.mark.at_length
def test_frames_read_from_a_dataset_can_be_loaded_again(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1}, {"id": 2}], table_name="items")

    pipeline.run(pipeline.dataset()["items"], table_name="copies")

    copies = pipeline.dataset()["copies"].spark()
    assert sorted(row["id"] for row in copies.collect()) == [1, 2]


@pytest.mark.at_length
def test_maps_variants_and_intervals_of_a_dataframe_are_converted(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    frame = spark.sql(
        """SELECT map('k', named_struct('x', 1)) AS m, parse_json('{"a": [1, "b"]}') AS v,
                  INTERVAL '1' HOUR AS i, array(map(1, 'one')) AS ms, CAST('c' AS CHAR(3)) AS c,
                  named_struct('v', parse_json('7')) AS s"""
    )
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(frame, table_name="t")

    dataset = pipeline.dataset()
    row = dataset["t"].spark().collect()[0]
    assert (row["m"], row["v"], row["i"], row["c"], row["s__v"]) == (
        '{"k":{"x":1}}',
        '{"a":[1,"b"]}',
        3_600_000_000,
        "c",
        "7",
    )
    assert [row["value"] for row in dataset["t__ms"].spark().collect()] == ['{"1":"one"}']


@pytest.mark.every_mode
def test_a_driver_that_cannot_write_files_sends_rows_through_the_session(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__THROUGH_SESSION", "true")
    monkeypatch.setenv("RUN__KEEP_DATA", "true")

    @penstock.resource
    def items() -> Iterator[Any]:
        yield from nested_rows(ROWS)
        yield pa.Table.from_pylist([{"id": ROWS, "at": datetime(2024, 5, 6, tzinfo=UTC), "tags": ["x"]}])

    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run(items)

    assert {table.table: table.rows for table in info.packages[0].tables} == {
        "items": ROWS + 1,
        "items__tags": 2 * ROWS + 1,
        "items__parts": ROWS,
    }
    result = pipeline.dataset()["items"].spark()
    assert sorted(row["id"] for row in result.collect()) == list(range(ROWS + 1))
    assert result.where("at IS NOT NULL").select(F.unix_micros("at")).collect()[0][0] == 1714953600000000
    assert result.select("_dlt_id").distinct().count() == ROWS + 1
    package = packages_of(location).package(info.loads_ids[0])
    names = [name for folder in package.store.names("data/extracted")
             for name in package.store.names(f"data/extracted/{folder}")]  # fmt: skip
    assert "_SUCCESS" in names, "Spark wrote them"


@pytest.mark.at_length
def test_nested_values_of_frames_are_kept_nested_if_so_configured(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    first = pa.table({"id": [1], "o": [{"Ab": 1, "l": [1.5]}], "l": [[{"x": 1}]]})
    later = pa.table({"id": [2], "o": [{"Ab": 2, "l": [2.5], "new": "n"}], "l": [None]})

    pipeline.run(first, table_name="things", nested="keep")
    pipeline.run(later, table_name="things")

    result = pipeline.dataset()["things"].spark().orderBy("id").collect()
    assert pipeline.dataset().row_counts() == {"things": 2}
    assert [row["o"].asDict() for row in result] == [
        {"Ab": 1, "l": [1.5], "new": None},
        {"Ab": 2, "l": [2.5], "new": "n"},
    ]
    assert result[0]["l"][0].asDict() == {"x": 1}
