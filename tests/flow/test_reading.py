"""Readers see complete loads only, whatever runs meanwhile, and leave the session unchanged."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline

import penstock
from penstock.errors import TableNotFound, TableVersionGone, UsageError
from penstock.interfaces import Destination
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset

LOADS = 3


def source(number: int) -> list[Any]:
    """Return two resources, one replaced and one appended to; every row names its load."""
    items = [
        {"id": i, "load": number, "tags": [number, number], "parts": [{"load": number}]} for i in range(4)
    ]
    return [
        penstock.resource(items, name="items", write_disposition="replace"),
        penstock.resource([{"load": number}], name="events"),
    ]


COLUMNS = {"events": "load", "items": "load", "items__parts": "load", "items__tags": "value"}
ALL = " UNION ALL ".join(f"SELECT '{name}', {column} FROM {name}" for name, column in COLUMNS.items())


def state(dataset: Dataset) -> dict[str, list[int]]:
    """Return the loads that have rows in each table."""
    result: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for name, number in dataset(ALL).fetchall():
        result[name].append(number)
    return {name: sorted(numbers) for name, numbers in result.items()}


def after(*numbers: int) -> dict[str, list[int]]:
    """Return the expected content of the tables after these loads."""
    last = numbers[-1]
    return {
        "events": list(numbers),
        "items": [last] * 4,
        "items__parts": [last] * 4,
        "items__tags": [last] * 8,
    }


def dying(location: str, at: int) -> Destination:
    lake = penstock.destinations.delta(bucket_url=location)
    return Destination("delta", CrashingDestination(lake.reference, at=at, after=True), lake.arguments)


def stopped(location: str, tmp_path: Path, spark: SparkSession, number: int, *, at: int) -> None:
    """Run a load whose process ends after this number of written tables."""
    pipeline = make_pipeline(location, tmp_path, spark)
    with pytest.raises(Crash):
        pipeline.run(source(number), destination=dying(location, at))


@pytest.mark.at_length
def test_a_load_stopped_between_two_tables_is_not_visible(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(source(0))
    old, loads, shown = pipeline.dataset(), [0], []
    assert old.row_counts() == {"events": 1, "items": 4, "items__parts": 4, "items__tags": 8}

    for number, at in enumerate([1, 3, 4], start=1):
        stopped(location, tmp_path, spark, number, at=at)

        dataset = pipeline.dataset()
        assert state(dataset) == after(*loads), f"after {at} tables"
        assert len(dataset.load_ids()) == dataset["_dlt_loads"].count() == number
        shown.append(state(pipeline.dataset(consistent=False)) in (after(*loads), after(*loads, number)))
        make_pipeline(location, tmp_path / "another machine", spark).run()
        loads.append(number)
        assert state(dataset) == after(*loads[:-1]), "a dataset shows one moment, however long it is held"
        assert state(pipeline.dataset()) == after(*loads)

    assert shown == [False, False, True], "without the promise, readers see what is half done"
    assert state(old) == after(0)


@pytest.mark.at_length
@pytest.mark.every_mode
def test_a_stopped_first_load_shows_no_table(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    stopped(location, tmp_path, spark, 0, at=2)
    dataset = make_pipeline(location, tmp_path, spark).dataset()

    assert (dataset.tables, dataset.load_ids()) == (["_dlt_loads", "_dlt_version", "_dlt_pipeline_state"], [])
    assert dataset.latest_load_id() is None
    assert dataset.row_counts(dlt_tables=True) == dict.fromkeys(dataset.tables, 0)
    with pytest.raises(TableNotFound):
        print(dataset["items"])  # noqa: T201 - asking is what fails
    assert len(make_pipeline(location, tmp_path, spark).dataset(consistent=False).tables) == 5


def test_a_reader_never_sees_a_mixed_state_while_loads_go_on(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(source(0))
    begun, done, errors = threading.Event(), threading.Event(), list[Exception]()
    seen: list[tuple[dict[str, list[int]], dict[str, list[int]]]] = []

    def read() -> None:
        try:
            is_last = False
            while not is_last:
                is_last = done.is_set()
                dataset = make_pipeline(location, tmp_path, spark).dataset()
                one_by_one = {
                    name: sorted(row[0] for row in dataset[name].select(column).fetchall())
                    for name, column in COLUMNS.items()
                }
                seen.append((one_by_one, state(dataset)))
                begun.set()
        except Exception as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(120), errors
    for number in range(1, LOADS):
        make_pipeline(location, tmp_path, spark).run(source(number))
    done.set()
    reader.join()

    assert errors == []
    complete = [after(*range(number + 1)) for number in range(LOADS)]
    assert [pair for pair in seen if pair[0] != pair[1] or pair[0] not in complete] == []
    assert {0, LOADS - 1} <= {complete.index(pair[0]) for pair in seen}, "it saw loads come"


@pytest.mark.every_mode
def test_a_table_is_read_in_every_form(compiled: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, compiled)
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    rows = [{"id": 2, "at": moment, "name": "it's {b}"}, {"id": 1, "at": moment, "name": None}]
    info = pipeline.run(rows, table_name="items")
    views = compiled.catalog.listTables()

    with pipeline.dataset() as dataset:
        items = dataset.items.select("id", "at", "name").order_by("id")

        assert items.fetchall() == [(1, moment, None), (2, moment, "it's {b}")]
        assert list(items) == items.fetchall()
        assert (items.fetchone(), items.fetchmany(1)) == ((1, moment, None), [(1, moment, None)])
        assert list(items.iter_fetch(1)) == [[row] for row in items.fetchall()]
        assert items.arrow().to_pylist()[1] == {"id": 2, "at": moment, "name": "it's {b}"}
        assert list(items.df()["id"]) == [1, 2]
        assert [row["id"] for row in items.spark().collect()] == [1, 2]
        assert items["id"].max().fetchscalar() == 2
        assert items.where("id", "gt", 1).fetchall() == items.where("name IS NOT NULL").fetchall()
        assert items.columns == ["id", "at", "name"]
        assert dataset["items"].from_loads(info.loads_ids).count() == 2
        assert dataset.row_counts(load_id="1") == {"items": 0}
        assert dataset.latest_load_id() == info.loads_ids[0]
        assert dataset.loads_table().select("load_id").fetchscalar() == info.loads_ids[0]
        assert dataset.schema is not None
        assert "items" in dataset.schema.tables
        assert not hasattr(dataset, "nothing")
    assert compiled.catalog.listTables() == views


@pytest.mark.at_length
@pytest.mark.every_mode
def test_queries_name_tables_without_a_qualifier(
    compiled: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, compiled)
    pipeline.run([{"id": 1, "tags": ["a{", "b"]}, {"id": 2, "tags": ["c"]}], table_name="items")
    views = compiled.catalog.listTables()
    dataset = pipeline.dataset()

    joined = dataset("""
        WITH t AS (SELECT _dlt_parent_id AS p, value FROM demo.items__tags WHERE value <> '}')
        SELECT Items.id, value FROM items JOIN t ON p = items._dlt_id ORDER BY id DESC, value -- the end
    """)
    assert joined.fetchall() == [(2, "c"), (1, "a{"), (1, "b")]
    assert joined.spark().count() == 3
    assert dataset.query("SELECT value FROM items__tags WHERE value = %s", "a{").fetchall() == [("a{",)]
    assert dataset("SELECT id FROM items WHERE id > %(low)s;", low=1).fetchall() == [(2,)]
    assert dataset("SELECT count(*) FROM _dlt_loads").fetchscalar() == 1
    with pytest.raises(UsageError, match="read-only"):
        dataset("DELETE FROM items")
    assert compiled.catalog.listTables() == views


@pytest.mark.at_length
@pytest.mark.every_mode
def test_a_client_queries_and_changes_tables(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": number, "name": f"n{number}"} for number in range(4)], table_name="items")

    with pipeline.sql_client() as client:
        with client.execute_query("SELECT id, name FROM items WHERE id >= %s ORDER BY id", 1) as cursor:
            assert [column[:2] for column in cursor.description] == [("id", "bigint"), ("name", "string")]
            assert (cursor.fetchone(), cursor.fetchmany(1), cursor.fetchall(), cursor.fetchall()) == (
                (1, "n1"),
                [(2, "n2")],
                [(3, "n3")],
                [],
            )
            assert list(cursor.df()["id"]) == [1, 2, 3]
        assert client.execute_sql("SELECT name FROM items WHERE name = %s", "n' OR 'a' = 'a") == []
        assert client.execute_sql("DELETE FROM items WHERE items.id = %s", 3) is None
        assert client.execute_sql("UPDATE items SET name = %s WHERE id = %s", "new'", 0) is None
        table = client.make_qualified_table_name("items")
        assert client.execute_sql(f"SELECT name FROM {table} ORDER BY id") == [("new'",), ("n1",), ("n2",)]
        assert client.has_dataset()
    assert pipeline.dataset().row_counts() == {"items": 3}


def test_relations_are_joined_described_and_equal_their_queries(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    rows = [
        {"id": 1, "name": "a'b", "parts": [{"tags": [1, 2]}]},
        {"id": 2, "name": "b", "parts": [{"tags": [3]}]},
    ]
    pipeline.run(rows, table_name="items")
    dataset = pipeline.dataset()
    items, parts, tags = (dataset[name] for name in ("items", "items__parts", "items__parts__tags"))

    joined = tags.join("items").select("value", "items__name")

    assert sorted(joined.fetchall()) == [(1, "a'b"), (2, "a'b"), (3, "b")]
    assert parts.join("items", alias="p").columns == [
        *parts.columns,
        *(f"p__{name}" for name in items.columns),
    ]
    named = parts.join(
        items.select("_dlt_id", "name"), on="items__parts._dlt_parent_id = items._dlt_id", kind="left"
    )
    assert sorted(named.select("items__name").fetchall()) == [("a'b",), ("b",)]
    assert tags.with_load_id_col().columns == [*tags.columns, "_dlt_load_id"]
    assert tags.from_loads(dataset.load_ids()).count() == 3
    assert tags.from_loads(["1"]).columns == tags.columns
    assert tags.from_loads(["1"], add_load_id_column=True).fetchall() == []
    assert items.select("id", "name").columns_schema == {
        "id": {"name": "id", "data_type": "bigint", "nullable": True},
        "name": {"name": "name", "data_type": "text", "nullable": True},
    }
    counted = dataset("SELECT count(*) AS n, CAST(1 AS DECIMAL(10, 2)) AS d FROM items").schema["columns"]
    assert [(column["name"], column["data_type"]) for column in counted.values()] == [
        ("n", "bigint"),
        ("d", "decimal"),
    ]
    counts = dataset.row_counts(table_names=["items", "items__parts"])
    assert counts.fetchall() == [("items", 2), ("items__parts", 2)]
    assert (counts["items"], list(counts.df().columns)) == (2, ["table_name", "row_count"])
    for relation in (
        items.where("name", "eq", "a'b").select("id"),
        items.where("id", "not_in", [1]).order_by("id", "desc").limit(1),
        items.select("id").max(),
        joined.order_by("value"),
        tags.from_loads(dataset.load_ids()).order_by("value"),
        dataset("SELECT id FROM items WHERE name = %s", "b"),
        counts.where("row_count", "gt", 1),
    ):
        assert dataset(relation.to_sql()).fetchall() == relation.fetchall(), relation.to_sql()


def test_quarantined_rows_are_read_like_others(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1}, {"id": 1j}], table_name="items")

    dataset = pipeline.dataset()

    assert dataset("SELECT reason FROM _dlt_quarantine").fetchall() == [("complex has no JSON form",)]
    assert set(dataset.row_counts(dlt_tables=True)) == set(dataset.tables)


@pytest.mark.at_length
def test_readers_see_the_data_of_a_load_through_maintenance_and_an_expired_version_is_an_error(
    spark: SparkSession, own: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    for number in range(2):
        pipeline.run(source(number))
    names = [f"delta.`file://{location}/demo/{name}`" for name in COLUMNS]
    own.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    for name in names:
        own.sql(f"OPTIMIZE {name}")
        own.sql(f"VACUUM {name} RETAIN 0 HOURS")
    assert state(pipeline.dataset()) == after(0, 1), "nothing is in flight: the newest is read"

    stopped(location, tmp_path, spark, 2, at=4)
    assert state(pipeline.dataset()) == after(0, 1), "files of the version before are still there"
    for name in names:
        own.sql(f"VACUUM {name} RETAIN 0 HOURS")

    with pytest.raises(TableVersionGone) as removed:
        pipeline.dataset()["items"].fetchall()
    assert list(vars(removed.value)["tables"]) == ["items"]
    assert "consistent=False" in removed.value.hint
    assert state(pipeline.dataset(consistent=False))["items"] == [2] * 4
    pipeline.run()
    assert state(pipeline.dataset()) == after(0, 1, 2)
