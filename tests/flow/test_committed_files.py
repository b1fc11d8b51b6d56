"""Files that are committed by reference: every reader sees their rows, and skips files by true statistics."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from tests.flow.delta_dataset import ITEMS, DeltaDataset, mark
from tests.flow.factories import CATALOG_CONF, new_session

from penstock.dataset.run import arrow_table
from penstock.destinations.delta.log_commits import read_commits
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALL_TYPES = """
SELECT id, cast(id AS string) || repeat('x', 40) AS text, cast(id AS double) AS number, id % 2 = 0 AS flag,
    timestamp_micros(id * 1000001) AS moment, cast(timestamp_micros(id * 1000001) AS timestamp_ntz) AS local,
    date_add(date'2000-01-01', cast(id AS int)) AS day, cast(id AS decimal(38, 9)) / 7 AS amount,
    cast(cast(id AS string) AS binary) AS bytes, named_struct('inner', id, 'list', array(id)) AS nested,
    map('key', id) AS pairs, if(id % 10 = 9, double('NaN'), -id) AS odd, if(id % 3 = 0, NULL, id) AS maybe
FROM range({first}, {last})
"""
CONDITIONS = (
    "id = 12",
    "text >= '15'",
    "number BETWEEN 3 AND 4",
    "flag",
    "moment <= timestamp_micros(5 * 1000001)",
    "local > timestamp_ntz'1970-01-01 00:00:12'",
    "day = date'2000-01-08'",
    "amount > 2.5",
    "nested.inner = 19",
    "odd > 0",
    "isnan(odd)",
    "odd < -15",
    "maybe IS NULL AND id > 12",
    "maybe = 4",
)


@pytest.fixture
def lake(location: str, own: SparkSession) -> DeltaDataset:
    return DeltaDataset(location, own)


def engines(lake: DeltaDataset) -> list[str]:
    """Return the library of each commit, oldest first."""
    return [str(row["engineInfo"]).split(":")[0].split("/")[0] for row in reversed(lake.history())]


def rows_in(lake: DeltaDataset, first: int, last: int) -> DataFrame:
    return lake.spark.sql(ALL_TYPES.format(first=first, last=last)).coalesce(1)


def shown(frame: DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


def test_filters_return_the_same_rows_from_files_of_either_writer(location: str, own: SparkSession) -> None:
    by_reference = DeltaDataset(f"{location}/reference", own)
    by_spark = DeltaDataset(f"{location}/spark", own, commit_by_reference=False)
    for lake in (by_reference, by_spark):
        for sequence, first in enumerate((0, 10), start=1):
            applied = lake.tables.append(ITEMS, rows_in(lake, first, first + 10), mark(sequence), spark=own)
            assert (applied.rows, applied.version_after) == (10, sequence - 1)
    assert (engines(by_reference), engines(by_spark)) == (["delta-rs"] * 2, ["Apache-Spark"] * 2)
    rows, same_rows = (lake.tables.read("items", spark=own) for lake in (by_reference, by_spark))
    queries = [f"SELECT * FROM {{0}} WHERE {condition}" for condition in CONDITIONS]
    queries += [
        f"SELECT min({name}), max({name}), count(*) FROM {{0}}" for name in ("id", "odd", "day", "text")
    ]

    assert rows.schema == same_rows.schema
    for query in queries:
        results = [shown(own.sql(query.format(lake.name))) for lake in (by_reference, by_spark)]
        assert results[0] == results[1], query
    assert len(rows.where("id = 12").inputFiles()) == 1
    assert len(rows.where("moment > timestamp_micros(9500000)").inputFiles()) == 1
    table = DeltaTable(f"{location}/reference/demo/items")
    assert table.to_pyarrow_table().num_rows == 20
    assert len(table.file_uris(file_pruning_predicate="id > 12")) == 1


@pytest.mark.parametrize("sequence", [1, 2])
def test_a_commit_by_reference_is_undone_and_the_next_load_is_appended(
    lake: DeltaDataset, sequence: int
) -> None:
    for number in range(1, sequence + 1):
        lake.append(number, load=mark(number))

    applied = lake.tables.to_undo("items", mark(sequence), spark=lake.spark)
    assert applied is not None
    lake.tables.undo(applied, mark(sequence).load_id, spark=lake.spark)
    assert lake.ids() == list(range(1, sequence))
    lake.append(3, load=mark(3))

    assert lake.ids() == [*range(1, sequence), 3]
    assert engines(lake) == [*["delta-rs"] * sequence, "Apache-Spark", "delta-rs"]


def test_a_commit_by_reference_adds_columns(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    wider = lake.spark.sql("SELECT 2L AS id, 'x' AS _dlt_load_id, 2.5BD AS more")
    applied = lake.tables.append(ITEMS, wider, mark(2), spark=lake.spark)
    lake.append(3, load=mark(3))

    assert engines(lake) == ["delta-rs"] * 3
    assert (applied.rows, applied.version_before, applied.version_after) == (1, 0, 1)
    rows = lake.tables.read("items", spark=lake.spark).select("id", "more")
    assert sorted(map(tuple, rows.collect())) == [(1, None), (2, Decimal("2.5")), (3, None)]
    # Files without the column have no bounds of it.
    assert [len(rows.where(f"more > {bound}").inputFiles()) for bound in (2, 3)] == [3, 2]
    lake.spark.sql(f"UPDATE {lake.name} SET more = 3 WHERE id = 1")
    assert rows.where("more = 3").count() == 1


def test_spark_writes_what_needs_its_checks(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    other = lake.spark.sql("SELECT 2L AS id, 'x' AS _dlt_load_id, named_struct('a', 1) AS more")
    lake.tables.append(ITEMS, other, mark(2), spark=lake.spark)
    more = lake.spark.sql("SELECT 3L AS id, 'x' AS _dlt_load_id, named_struct('a', 1, 'b', 2) AS more")
    lake.tables.append(ITEMS, more, mark(3), spark=lake.spark)
    lake.spark.sql(f"ALTER TABLE {lake.name} ADD CONSTRAINT positive CHECK (id > 0)")

    with pytest.raises(DestinationTerminalException, match="positive"):
        lake.append(-1, load=mark(4))

    lake.append(4, load=mark(4))
    assert lake.ids() == [1, 2, 3, 4]
    assert engines(lake) == ["delta-rs", "delta-rs", "Apache-Spark", "Apache-Spark", "Apache-Spark"]


def test_a_replace_by_reference_keeps_columns_that_its_rows_lack(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    rows = lake.spark.sql("SELECT 5L AS id")

    applied = lake.tables.overwrite(ITEMS, rows, mark(2), spark=lake.spark)

    assert (applied.rows, applied.version_before, applied.version_after) == (1, 0, 1)
    assert [row.asDict() for row in lake.tables.read("items", spark=lake.spark).collect()] == [
        {"id": 5, "_dlt_load_id": None}
    ]
    assert engines(lake) == ["delta-rs", "delta-rs"]


def test_vacuum_deletes_files_that_were_never_committed(lake: DeltaDataset) -> None:
    lake.append(1, load=mark(1))
    folder = uuid.uuid4().hex
    addressing: Any = lake.tables.addressing
    addressing.write_files("items", lake.spark.range(3), folder)
    files = lake.log.parent / folder
    assert [path.name for path in files.iterdir() if not path.name.startswith(".")] != []
    conf = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        # Delta lists folders in so many tasks: by default in 10,000.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }

    new_session(lake.spark, CATALOG_CONF | conf).sql(f"VACUUM {lake.name} RETAIN 0 HOURS")

    assert list(files.glob("part-*")) == []
    assert lake.ids() == [1]


@pytest.mark.at_length
def test_writers_of_both_kinds_in_one_process_lose_no_commit(
    location: str, own: SparkSession, spark: SparkSession
) -> None:
    DeltaDataset(location, own).append(0, load=mark(1, "first"))

    def write(number: int) -> None:
        lake = DeltaDataset(location, new_session(own, CATALOG_CONF), commit_by_reference=bool(number % 2))
        for sequence in range(1, 6):
            lake.append(100 * number + sequence, load=mark(sequence, f"shop {number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    expected = [0, *(100 * number + sequence for number in range(4) for sequence in range(1, 6))]
    assert DeltaDataset(location, own).ids() == expected


def test_the_log_has_the_commits_of_the_history(lake: DeltaDataset) -> None:
    for sequence in (1, 2, 3):
        lake.append(sequence, load=mark(sequence))
    lake.spark.sql(f"DELETE FROM {lake.name} WHERE id = 1")
    lake.spark.sql(f"RESTORE TABLE {lake.name} TO VERSION AS OF 1")
    store = lake.client.store
    facts = ("version", "operation", "userMetadata")

    commits = read_commits(store, "items", None)
    assert commits is not None
    assert [tuple(commit[name] for name in facts) for commit in commits] == [
        tuple(row[name] for name in facts) for row in lake.history()
    ]
    assert commits[0]["operationParameters"]["version"] == 1
    metrics = [commit["operationMetrics"]["numOutputRows"] for commit in commits[2:]]
    assert metrics == [row["operationMetrics"]["numOutputRows"] for row in lake.history()[2:]]
    assert [commit["version"] for commit in read_commits(store, "items", 2) or ()] == [4, 3]


def test_a_small_table_is_read_without_spark_as_with_it(lake: DeltaDataset) -> None:
    simple = "id, text, number, flag, moment, local, day, amount, bytes, odd, maybe"
    for start, columns in ((0, "id, local"), (10, simple)):
        rows = rows_in(lake, start, start + 10).selectExpr(*columns.split(", "))
        rows.write.format("delta").mode("append").option("mergeSchema", "true").save(
            f"{lake.location}/demo/a"
        )
    frame = lake.tables.read("a", spark=lake.spark)

    table = lake.client.read_small_table("a")
    expected = arrow_table(frame.orderBy("id"))
    assert table is not None
    assert table.schema.types == expected.schema.types
    assert str(table.sort_by("id").to_pylist()) == str(expected.to_pylist())
    first = lake.client.read_small_table("a", 0)
    assert first is not None
    assert first.column_names == ["id", "local"]


def test_spark_reads_tables_that_are_more_than_their_files(lake: DeltaDataset, other: SparkSession) -> None:
    rows = rows_in(lake, 0, 10)
    folder = f"{lake.location}/demo"
    rows.write.format("delta").save(f"{folder}/nested")
    rows.select("id", "flag").write.format("delta").partitionBy("flag").save(f"{folder}/partitioned")
    rows.select("id").write.format("delta").option("delta.enableDeletionVectors", "true").save(f"{folder}/dv")
    # By a new session: without generated code Delta serializes it, and cannot once it has observed a frame.
    other.sql(f"DELETE FROM {lake.tables.sql_name('dv')} WHERE id = 3")
    assert {name: lake.client.read_small_table(name) for name in ("nested", "partitioned", "dv", "none")} == {
        "nested": None, "partitioned": None, "dv": None, "none": None,
    }  # fmt: skip
