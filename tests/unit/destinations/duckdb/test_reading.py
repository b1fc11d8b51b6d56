"""Reads of a file of DuckDB: the library answers, and no Spark is started."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.destinations.duckdb.databases import pipeline_into, rows_of

import penstock
from penstock.errors import DestinationTerminalException, TableNotFound, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces import SqlClientBase
    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
AT = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
ITEMS = [
    {"id": 1, "name": "a", "at": AT, "tags": ["x", "y"]},
    {"id": 2, "name": "b%", "at": AT, "tags": ["x"]},
    {"id": 3, "name": "c", "at": AT},
]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    loaded = pipeline_into(tmp_path)
    loaded.run(ITEMS, table_name="items")
    return loaded


def test_tables_are_read_with_all_of_their_methods(pipeline: Pipeline) -> None:
    items = pipeline.dataset()["items"]

    assert sorted(row[:3] for row in items.fetchall()) == [(1, "a", AT), (2, "b%", AT), (3, "c", AT)]
    assert items.columns == ["id", "name", "at", "_dlt_load_id", "_dlt_id"]
    assert len(items.df()) == items.count() == len(list(items)) == 3
    assert len(items.arrow(2)) == len(items.fetchmany(2)) == len(items.limit(2).fetchall()) == 2
    assert items.columns_schema["at"]["data_type"] == "timestamp"
    assert [len(chunk) for chunk in items.iter_fetch(2)] == [2, 1]


def test_derived_relations_are_queries_of_the_database(pipeline: Pipeline) -> None:
    dataset = pipeline.dataset()
    items = dataset["items"]

    assert items.where("id", "gt", 1).select("name").order_by("name").fetchall() == [("b%",), ("c",)]
    assert items.where("id IN (1, 3) AND \"name\" = 'c'").select("id").fetchall() == [(3,)]
    assert items.select("id").max().fetchscalar() == 3
    tags = dataset["items__tags"].join("items").select("value", "items__id").fetchall()
    assert sorted(tags) == [("x", 1), ("x", 2), ("y", 1)]
    assert dataset["items__tags"].from_loads(dataset.load_ids()).count() == 3
    assert dataset.row_counts() == {"items": 3, "items__tags": 3}
    assert dataset.row_counts().fetchall() == [("items", 3), ("items__tags", 3)]
    assert "LIMIT 1" in items.limit(1).to_sql()
    assert dataset.destination_dialect == "duckdb"


def test_a_query_is_run_as_it_is_written_with_its_values_bound(pipeline: Pipeline) -> None:
    dataset = pipeline.dataset()

    assert dataset("SELECT list(id ORDER BY id) FROM items").fetchscalar() == [1, 2, 3]
    assert dataset("FROM items SELECT id WHERE name LIKE 'b%'").fetchall() == [(2,)]
    assert dataset("SELECT id FROM items WHERE name = %s", "b%").fetchall() == [(2,)]
    assert dataset("SELECT id FROM items WHERE name = %(n)s AND id < %(i)s", n="a", i=5).fetchall() == [(1,)]
    assert dataset("SELECT id FROM items WHERE id > %s", 1).order_by("id").fetchall() == [(2,), (3,)]
    assert dataset("SELECT id FROM demo.items ORDER BY id").fetchmany(1) == [(1,)]
    assert dataset("SELECT `id` FROM `items` WHERE id = 1", query_dialect="spark").fetchall() == [(1,)]


def test_system_tables_are_read(pipeline: Pipeline) -> None:
    dataset = pipeline.dataset()

    assert dataset.tables == ["items", "items__tags", "_dlt_loads", "_dlt_version", "_dlt_pipeline_state"]
    assert dataset["_dlt_loads"].select("load_id").fetchall() == [(dataset.latest_load_id(),)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1; DROP TABLE items",
        "WITH gone AS (SELECT 1) DELETE FROM items",
        "FROM items; DELETE FROM items",
        "DELETE FROM items",
    ],
)
def test_a_dataset_runs_nothing_but_one_query(pipeline: Pipeline, query: str) -> None:
    dataset = pipeline.dataset()

    with pytest.raises((UsageError, DestinationTerminalException)):
        dataset(query).fetchall()

    assert dataset["items"].count() == 3


def test_variables_of_python_are_no_tables(pipeline: Pipeline) -> None:
    frame = pipeline.dataset()["items"].arrow()

    with pytest.raises(DestinationTerminalException, match="frame"):
        pipeline.dataset()("SELECT * FROM frame").fetchall()

    assert len(frame) == 3


def test_a_table_that_does_not_exist_is_named(pipeline: Pipeline) -> None:
    with pytest.raises(TableNotFound, match="nothing"):
        _ = pipeline.dataset()["nothing"]


def test_the_sql_client_queries_and_changes_tables(pipeline: Pipeline, tmp_path: Path) -> None:
    with pipeline.sql_client() as client:
        with client.execute_query("SELECT id, name FROM items WHERE id = %s", 2) as cursor:
            assert [column[:2] for column in cursor.description] == [("id", "bigint"), ("name", "string")]
            assert cursor.fetchall() == [(2, "b%")]
        client.execute_sql("UPDATE items SET name = %s WHERE id = %s", "z", 1)
        assert client.execute_sql("SELECT name FROM items WHERE id = 1") == [("z",)]
        assert client.native_connection.execute("SELECT count(*) FROM items").fetchone() == (3,)

    assert rows_of(tmp_path, "SELECT name FROM items WHERE id = 1") == [("z",)]


def test_qualified_names_of_the_sql_client_are_those_of_the_database(pipeline: Pipeline) -> None:
    with pipeline.sql_client() as client:
        column, table = client.escape_column_name("name"), client.make_qualified_table_name("items")

        assert client.execute_sql(f"SELECT {column} FROM {table} WHERE id = 1") == [("a",)]


def test_a_transaction_of_the_sql_client_is_rolled_back_by_an_error(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    with pipeline.sql_client() as client:
        with pytest.raises(ZeroDivisionError):
            _delete_and_fail(client)
        with client.begin_transaction():
            client.execute_sql("DELETE FROM items WHERE id = 1")

    assert rows_of(tmp_path, "SELECT id FROM items ORDER BY id") == [(2,), (3,)]


def _delete_and_fail(client: SqlClientBase[Any]) -> None:
    with client.begin_transaction():
        client.execute_sql("DELETE FROM items")
        assert client.execute_sql("SELECT count(*) FROM items") == [(0,)]
        raise ZeroDivisionError


def test_an_empty_dataset_has_no_tables(tmp_path: Path) -> None:
    dataset = pipeline_into(tmp_path).dataset()

    assert dataset.tables == []
    assert dataset("SELECT 1").fetchall() == [(1,)]


def test_a_dataset_is_opened_without_its_pipeline(pipeline: Pipeline, tmp_path: Path) -> None:
    destination = penstock.destinations.duckdb(str(tmp_path / "shop.duckdb"))

    assert penstock.dataset(destination, pipeline.dataset_name).items.count() == 3
