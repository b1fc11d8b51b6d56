"""Loads into Postgres without Spark: rows, schemas, failures and names, as another connection sees them."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from tests.injection_names import NAMES
from tests.service.postgres import URL

import penstock
from penstock.errors import InvalidDatasetName, PenstockError, PipelineStepFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_NAME_LENGTH = 63
ORDERS = [
    {"id": 1, "price": 1.5, "items": [{"sku": "a"}, {"sku": "b"}]},
    {"id": 2, "price": 2.5, "items": [{"sku": "c"}]},
]


@pytest.fixture
def dataset() -> Iterator[str]:
    """The name of a new dataset, dropped afterwards with the staging of its loads."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    yield name
    drop_schemas(name)


@pytest.fixture
def pipeline(dataset: str, tmp_path: Path) -> penstock.Pipeline:
    """A pipeline to the dataset; no session is given, and none is needed."""
    return new_pipeline(dataset, tmp_path)


def new_pipeline(dataset: str, folder: Path, **settings: Any) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop",
        destination=penstock.destinations.postgres(URL, **settings),
        dataset_name=dataset,
        pipelines_dir=folder,
    )


def drop_schemas(dataset: str) -> None:
    with psycopg.connect(URL, autocommit=True) as connection:
        for name in schemas(dataset):
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def schemas(dataset: str) -> list[str]:
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY 1"
    return [name for (name,) in rows_of(query, dataset)]


def rows_of(query: str, *values: Any, dataset: str | None = None) -> list[tuple[Any, ...]]:
    """Return the rows of a query; names without a schema are those of the dataset."""
    with psycopg.connect(URL) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        if dataset is not None:
            connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(dataset)))
        return connection.execute(query, values or None).fetchall()


def test_rows_and_nested_rows_are_appended(pipeline: penstock.Pipeline, dataset: str) -> None:
    pipeline.run(ORDERS, table_name="orders")
    pipeline.run([{"id": 3, "price": 3.5, "items": [{"sku": "d"}]}], table_name="orders")

    query = """
        SELECT o.id, o.price, i.sku, i._dlt_list_idx FROM orders o
        JOIN orders__items i ON i._dlt_parent_id = o._dlt_id ORDER BY 1, 4
    """
    assert rows_of(query, dataset=dataset) == [
        (1, 1.5, "a", 0),
        (1, 1.5, "b", 1),
        (2, 2.5, "c", 0),
        (3, 3.5, "d", 0),
    ]
    assert rows_of("SELECT status, sequence, pipeline FROM _dlt_loads ORDER BY 2", dataset=dataset) == [
        (0, 1, "shop"),
        (0, 2, "shop"),
    ]
    assert schemas(dataset) == [dataset]


@pytest.mark.parametrize("strategy", ["truncate-and-insert", "insert-from-staging", "staging-optimized"])
def test_a_replace_removes_rows_and_nested_rows_of_earlier_loads(
    dataset: str, tmp_path: Path, strategy: str
) -> None:
    pipeline = new_pipeline(dataset, tmp_path, replace_strategy=strategy)
    pipeline.run(ORDERS, table_name="orders")

    pipeline.run([{"id": 9, "price": 0.0}], table_name="orders", write_disposition="replace")

    assert rows_of("SELECT id FROM orders", dataset=dataset) == [(9,)]
    assert rows_of("SELECT * FROM orders__items", dataset=dataset) == []


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "insert-only"])
def test_a_merge_by_key_leaves_no_nested_rows_of_replaced_ones(
    pipeline: penstock.Pipeline, dataset: str, strategy: str
) -> None:
    merge: Any = {"disposition": "merge", "strategy": strategy}
    new = [
        {"id": 2, "price": 9.0, "items": [{"sku": "x"}]},
        {"id": 2, "price": 9.5, "items": [{"sku": "y"}]},
        {"id": 3, "price": 3.5, "items": []},
    ]
    pipeline.run(ORDERS, table_name="orders", primary_key="id", write_disposition=merge)

    pipeline.run(new, table_name="orders", primary_key="id", write_disposition=merge)

    second = (2, 2.5, "c") if strategy == "insert-only" else (2, 9.5, "y")
    query = """
        SELECT o.id, o.price, i.sku FROM orders o LEFT JOIN orders__items i ON i._dlt_parent_id = o._dlt_id
        ORDER BY 1, 3
    """
    orphans = "SELECT * FROM orders__items WHERE _dlt_parent_id NOT IN (SELECT _dlt_id FROM orders)"
    assert rows_of(query, dataset=dataset) == [(1, 1.5, "a"), (1, 1.5, "b"), second, (3, 3.5, None)]
    assert rows_of(orphans, dataset=dataset) == []


def test_a_hard_delete_removes_a_row_with_its_nested_rows(pipeline: penstock.Pipeline, dataset: str) -> None:
    orders = penstock.resource(
        ORDERS,
        name="orders",
        primary_key="id",
        write_disposition="merge",
        columns={"gone": {"data_type": "bool", "hard_delete": True}},
    )
    pipeline.run(orders)

    pipeline.run([{"id": 1, "gone": True}], table_name="orders", primary_key="id", write_disposition="merge")

    assert rows_of("SELECT id FROM orders", dataset=dataset) == [(2,)]
    assert rows_of("SELECT sku FROM orders__items", dataset=dataset) == [("c",)]


def test_history_ends_versions_that_changed(pipeline: penstock.Pipeline, dataset: str) -> None:
    history: Any = {"disposition": "merge", "strategy": "scd2"}
    ulm = {"id": 2, "city": "Ulm"}

    for city in ("Bonn", "Kiel"):
        pipeline.run([{"id": 1, "city": city}, ulm], table_name="people", write_disposition=history)

    query = "SELECT id, city, _dlt_valid_to IS NULL FROM people ORDER BY id, _dlt_valid_from"
    assert rows_of(query, dataset=dataset) == [(1, "Bonn", False), (1, "Kiel", True), (2, "Ulm", True)]


def test_values_of_each_type_are_stored_exactly(pipeline: penstock.Pipeline, dataset: str) -> None:
    row = {
        "number": 2**63 - 1,
        "price": Decimal("12345678901234567890.123456789"),
        "ratio": 0.1,
        "paid": True,
        "day": date(1, 1, 1),
        "at": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        "photo": b"\0\xff",
        "note": 'a "quoted"\\ text,\n\t with \N{GRINNING FACE}',
        "extra": {"deep": [1, {"key": None}]},
    }

    pipeline.run([row], table_name="values", columns={"extra": {"data_type": "json"}})

    names = ", ".join(f'"{name}"' for name in row)
    assert rows_of(f'SELECT {names} FROM "values"', dataset=dataset) == [tuple(row.values())]


def test_a_text_with_nul_is_stored_with_a_replacement_and_a_warning(
    pipeline: penstock.Pipeline, dataset: str, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline.run([{"note": "a\0b"}, {"note": "plain"}], table_name="notes")

    assert rows_of("SELECT note FROM notes ORDER BY 1", dataset=dataset) == [("a\ufffdb",), ("plain",)]
    assert "1 texts of notes.note have a character that Postgres cannot store" in caplog.text


def test_columns_and_tables_are_added_by_the_load_that_needs_them(
    pipeline: penstock.Pipeline, dataset: str
) -> None:
    pipeline.run([{"id": 1}], table_name="orders")

    pipeline.run([{"id": 2, "coupon": "x", "items": [{"sku": "a"}]}], table_name="orders")

    assert rows_of("SELECT id, coupon FROM orders ORDER BY 1", dataset=dataset) == [(1, None), (2, "x")]
    assert rows_of("SELECT sku FROM orders__items", dataset=dataset) == [("a",)]


def test_unique_constraints_are_those_of_dlt_or_switched_off(dataset: str, tmp_path: Path) -> None:
    query = """
        SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        WHERE t.relnamespace = %s::regnamespace AND t.relname = %s
    """
    new_pipeline(dataset, tmp_path).run([{"id": 1}], table_name="with_index")
    new_pipeline(dataset, tmp_path, create_indexes=False).run([{"id": 1}], table_name="without_index")

    assert rows_of(query, dataset, "with_index") == [("UNIQUE (_dlt_id)",)]
    assert rows_of(query, dataset, "without_index") == []


def test_a_value_that_its_column_cannot_store_fails_the_load_and_nothing_of_it_is_visible(
    pipeline: penstock.Pipeline, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    pipeline.run([{"id": 1, "code": "ab"}], table_name="orders", columns={"code": {"precision": 3}})
    customers = penstock.resource([{"id": 2}], name="customers")

    with pytest.raises(PipelineStepFailed) as failure:
        pipeline.run([customers, penstock.resource([{"id": 3, "code": "secret value"}], name="orders")])

    assert "Postgres refused a statement for orders.code: value too long" in str(failure.value)
    assert "secret value" not in str(failure.value)
    assert rows_of("SELECT id FROM orders", dataset=dataset) == [(1,)]
    assert rows_of("SELECT to_regclass('customers')", dataset=dataset) == [(None,)]
    assert rows_of("SELECT count(*) FROM _dlt_loads", dataset=dataset) == [(1,)]


def test_dropping_a_failed_load_drops_its_staging(
    pipeline: penstock.Pipeline, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    pipeline.run([{"id": 1, "code": "ab"}], table_name="orders", columns={"code": {"precision": 3}})
    customers = penstock.resource([{"id": 2}], name="customers")
    with pytest.raises(PipelineStepFailed):
        pipeline.run([customers, penstock.resource([{"code": "long"}], name="orders")])

    pipeline.drop_pending_packages()
    pipeline.run([{"id": 3}], table_name="orders")

    assert rows_of("SELECT id FROM orders ORDER BY 1", dataset=dataset) == [(1,), (3,)]
    assert schemas(dataset) == [dataset]


def test_a_refresh_recreates_the_tables_of_a_source(pipeline: penstock.Pipeline, dataset: str) -> None:
    pipeline.run([{"id": 1, "old": "x", "items": [{"sku": "a"}]}], table_name="orders")

    pipeline.run([{"id": 2}], table_name="orders", refresh="drop_sources")

    columns = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
    assert ("old",) not in rows_of(columns, dataset, "orders")
    assert rows_of("SELECT id FROM orders", dataset=dataset) == [(2,)]
    assert rows_of("SELECT to_regclass('orders__items')", dataset=dataset) == [(None,)]


def test_a_new_machine_restores_state_and_schema(dataset: str, tmp_path: Path) -> None:
    @penstock.resource
    def orders() -> Iterator[dict[str, int]]:
        state = penstock.current.resource_state()
        state["runs"] = state.get("runs", 0) + 1
        yield {"run": state["runs"]}

    for machine in ("first", "second", "third"):
        new_pipeline(dataset, tmp_path / machine).run(orders())

    assert rows_of("SELECT run FROM orders ORDER BY 1", dataset=dataset) == [(1,), (2,), (3,)]


def test_small_tables_are_read_without_spark(pipeline: penstock.Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")

    dataset = pipeline.dataset()

    assert sorted(dataset["orders"].arrow().column("id").to_pylist()) == [1, 2]
    assert sorted(dataset["orders__items"].df()["sku"]) == ["a", "b", "c"]


def test_queries_are_run_by_postgres_and_change_nothing(pipeline: penstock.Pipeline) -> None:
    pipeline.run(ORDERS, table_name="orders")
    dataset = pipeline.dataset()

    joined = dataset.query(
        "SELECT o.id, count(*) AS n FROM orders o JOIN orders__items i ON i._dlt_parent_id = o._dlt_id "
        "WHERE i.sku <> %s AND i.sku LIKE '%%' GROUP BY 1 ORDER BY 1",
        "b",
    )

    assert joined.fetchall() == [(1, 1), (2, 1)]
    assert dataset["orders"].order_by("id").select("id").limit(1).fetchall() == [(1,)]
    with pytest.raises(PenstockError, match="read-only"):
        dataset.query("DELETE FROM orders").fetchall()


def test_statements_of_a_client_are_in_one_transaction(pipeline: penstock.Pipeline, dataset: str) -> None:
    pipeline.run(ORDERS, table_name="orders")

    with pipeline.sql_client() as client:
        with suppress(ZeroDivisionError), client.begin_transaction():
            client.execute_sql("DELETE FROM orders WHERE id = %s", 1)
            raise ZeroDivisionError
        with client.begin_transaction():
            client.execute_sql("UPDATE orders SET price = %(price)s WHERE id = %(id)s", id=2, price=7.5)
        rows = client.execute_sql("SELECT id, price FROM orders ORDER BY id")

    assert rows == [(1, 1.5), (2, 7.5)]
    assert rows_of("SELECT price FROM orders WHERE id = 2", dataset=dataset) == [(7.5,)]


def test_no_name_or_value_is_run_as_a_statement(dataset: str, tmp_path: Path) -> None:
    # With `direct`, most characters are unchanged; the default convention would leave only letters.
    pipeline = new_pipeline(dataset, tmp_path, naming_convention="direct")
    resources = [
        penstock.resource([{"id": 1, name: name, "list": [{name: name}]}], name=f"r{index}", table_name=name)
        for index, name in enumerate(NAMES)
    ]
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS victims (id bigint)")

    pipeline.run(resources, write_disposition="replace")
    tables = [name for name in pipeline.default_schema.data_table_names() if not name.endswith("list")]
    stored = [row for name in tables for row in pipeline.dataset()[name].arrow().to_pylist()]

    assert rows_of("SELECT count(*) FROM victims") == [(0,)]
    assert len(stored) == len(NAMES)
    assert [name for name in NAMES if not any(name in row.values() for row in stored)] == []


def test_names_that_are_too_long_are_shortened(pipeline: penstock.Pipeline, dataset: str) -> None:
    name = "long_" * 30
    pipeline.run([{name: "value"}], table_name=name)

    (table,) = pipeline.default_schema.data_table_names()

    assert len(table) == _MAX_NAME_LENGTH
    assert "value" in rows_of(f'SELECT * FROM "{table}"', dataset=dataset)[0]


@pytest.mark.parametrize("name", ['x"; DROP SCHEMA public CASCADE; --', "a b", "%s", "new\nline"])
def test_a_dataset_name_that_is_no_plain_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidDatasetName):
        new_pipeline(name, tmp_path)


def test_dataset_names_keep_their_case_and_length(tmp_path: Path, dataset: str) -> None:
    name = f"{dataset}_{'Select-' * 10}"[:_MAX_NAME_LENGTH]
    pipeline = penstock.pipeline(
        "shop",
        destination=penstock.destinations.postgres(URL, enable_dataset_name_normalization=False),
        dataset_name=name,
        pipelines_dir=tmp_path,
    )

    pipeline.run(ORDERS, table_name="orders")

    assert schemas(dataset) == [name]
    assert rows_of("SELECT count(*) FROM orders", dataset=name) == [(2,)]
