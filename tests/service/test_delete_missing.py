"""Rows that are deleted in Postgres are deleted, marked or closed in the tables, by their keys alone."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from tests.service.postgres import URL, execute, new_schema
from tests.service.toxics import Toxic, proxy_before
from tests.step_failures import step_raises

import penstock
from penstock.errors import DatabaseNotReachable, DeletionsRefused, UsageError
from penstock.sources.sql_database import sql_table
from penstock.sources.sql_database.table_reader import TableReader

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = int(os.environ.get("PENSTOCK_TEST_MISSING_ROWS", "1000000"))


@pytest.fixture
def schema() -> Iterator[str]:
    with new_schema() as name:
        yield name


def orders(schema: str, *, url: str = URL, **options: Any) -> Any:
    cursor = penstock.sources.incremental("version")
    return sql_table(url, "orders", schema=schema, **{"incremental": cursor, **options})


def fill(schema: str, rows: int) -> None:
    """Create orders with versions that grow by one."""
    execute(
        f"CREATE TABLE {schema}.orders (id bigint PRIMARY KEY, version bigint NOT NULL, state text NOT NULL,"
        " tags jsonb)"
    )
    execute(
        f"INSERT INTO {schema}.orders SELECT g, g, 'new ' || g, jsonb_build_array(g) "
        f"FROM generate_series(1, {rows}) g"
    )


def loaded(pipeline: penstock.Pipeline, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    return pipeline.dataset()(f"SELECT {columns} FROM orders WHERE {where} ORDER BY id, 2").fetchall()


def test_deleted_rows_are_deleted_with_changed_ones_and_too_many_are_refused(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    fill(schema, 40)
    options: dict[str, Any] = {"delete_missing": "hard", "included_columns": ["id", "version", "state"]}
    pipeline.run(orders(schema, **options))
    execute(f"DELETE FROM {schema}.orders WHERE id IN (3, 40)")
    execute(f"UPDATE {schema}.orders SET version = 41, state = 'paid' WHERE id = 5")
    execute(f"INSERT INTO {schema}.orders VALUES (41, 42, 'new 41')")

    pipeline.run(orders(schema, **options))

    expected = [(id_, f"new {id_}") for id_ in range(1, 42) if id_ not in {3, 5, 40}]
    assert loaded(pipeline, "id, state") == sorted([*expected, (5, "paid")])
    assert loaded(pipeline, "id, _dlt_deleted_at", "_dlt_deleted_at IS NOT NULL") == []
    before = loaded(pipeline, "id, state")
    execute(f"DELETE FROM {schema}.orders WHERE id < 20")
    with step_raises(DeletionsRefused) as refused:
        pipeline.run(orders(schema, **options))
    assert (refused.value.missing, refused.value.rows) == (18, 39)
    assert loaded(pipeline, "id, state") == before
    pipeline.run(orders(schema, max_deleted=0.5, **options))
    assert loaded(pipeline, "id, state") == [row for row in before if row[0] >= 20]


@pytest.mark.at_length
def test_deleted_rows_are_marked_with_all_their_values_or_their_versions_end(
    schema: str, pipeline: penstock.Pipeline
) -> None:
    fill(schema, 25)
    tables = {
        "orders": orders(schema, delete_missing="soft"),
        "history": orders(schema, delete_missing="scd2").with_name("history"),
    }
    pipeline.run(list(tables.values()))
    execute(f"DELETE FROM {schema}.orders WHERE id = 7")
    execute(f"UPDATE {schema}.orders SET version = 26, state = 'paid' WHERE id = 8")

    pipeline.run(list(tables.values()))
    pipeline.run(list(tables.values()))

    marked = loaded(pipeline, "id, state, tags, _dlt_deleted_at IS NULL", "id IN (7, 8)")
    assert marked == [(7, "new 7", "[7]", False), (8, "paid", "[8]", True)]
    history = pipeline.dataset()("SELECT id, state, _dlt_valid_to IS NULL FROM history WHERE id IN (7, 8)")
    assert sorted(history.fetchall()) == [(7, "new 7", False), (8, "new 8", False), (8, "paid", True)]
    assert pipeline.dataset()("SELECT count(*) FROM history").fetchscalar() == 26
    assert loaded(pipeline, "count(*) AS id, 1") == [(25, 1)]
    execute(f"INSERT INTO {schema}.orders VALUES (7, 27, 'again')")
    pipeline.run(list(tables.values()))
    assert loaded(pipeline, "id, state, _dlt_deleted_at", "id = 7") == [(7, "again", None)]


@pytest.mark.at_length
@pytest.mark.parametrize("mode", ["hard", "soft", "scd2"])
def test_a_row_that_returns_before_the_rows_are_read_is_kept(
    schema: str, pipeline: penstock.Pipeline, monkeypatch: pytest.MonkeyPatch, mode: Any
) -> None:
    fill(schema, 25)
    pipeline.run(orders(schema, delete_missing=mode))
    execute(f"DELETE FROM {schema}.orders WHERE id IN (7, 8)")
    window = TableReader.window

    def window_after_changes(*arguments: Any, **options: Any) -> Any:
        # The keys are read, and the rows are not.
        execute(f"INSERT INTO {schema}.orders VALUES (7, 26, 'again'), (26, 27, 'new 26')")
        execute(f"DELETE FROM {schema}.orders WHERE id = 9")
        return window(*arguments, **options)

    monkeypatch.setattr(TableReader, "window", window_after_changes)
    pipeline.run(orders(schema, delete_missing=mode, max_deleted=0.1))

    live = {"hard": "true", "soft": "_dlt_deleted_at IS NULL", "scd2": "_dlt_valid_to IS NULL"}[mode]
    rows = loaded(pipeline, "id, state", live)
    others = [(id_, f"new {id_}") for id_ in range(1, 27) if id_ not in {7, 8}]
    assert rows == sorted([*others, (7, "again")])


@pytest.mark.at_length
def test_loads_that_cannot_delete_are_refused(schema: str, pipeline: penstock.Pipeline) -> None:
    fill(schema, 5)
    execute(f"CREATE TABLE {schema}.keyless (id int)")
    appended = orders(schema, delete_missing="hard", write_disposition="append")
    pipeline.run(appended)

    with step_raises(UsageError, match="loaded by append"):
        pipeline.run(appended)
    with step_raises(UsageError, match="delete_missing needs the key of keyless"):
        pipeline.run(sql_table(URL, "keyless", schema=schema, delete_missing="hard"))
    # A table that is replaced or refreshed has no old rows to delete.
    execute(f"DELETE FROM {schema}.orders WHERE id = 1")
    pipeline.run(orders(schema, delete_missing="hard"), refresh="drop_resources")
    assert loaded(pipeline, "id, version") == [(id_, id_) for id_ in range(2, 6)]


@pytest.mark.at_length
def test_a_million_rows_lose_one_percent_and_nothing_when_the_source_breaks(
    schema: str, pipeline: penstock.Pipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(schema, ROWS)
    times: dict[str, float] = {}
    figures: list[str] = []

    def timed(name: str, **options: Any) -> Any:
        began = time.monotonic()
        try:
            return pipeline.run(orders(schema, delete_missing="hard", **options))
        finally:
            times[name] = time.monotonic() - began

    def counts() -> Any:
        return pipeline.dataset()("SELECT count(*), count(DISTINCT id), sum(id) FROM orders").fetchall()

    timed("first load")
    first = counts()
    execute(f"DELETE FROM {schema}.orders WHERE id % 100 = 0")
    execute(f"UPDATE {schema}.orders SET version = version + {ROWS} WHERE id % 1000 = 1")
    address = urlsplit(URL)
    with proxy_before(f"{address.hostname}:{address.port}") as proxy:
        through = URL.replace(f"{address.hostname}:{address.port}", proxy.address)
        cutting = proxy.toxic(Toxic("limit_data", {"bytes": 1_000_000}))
        with cutting, step_raises(DatabaseNotReachable) as cut:
            timed("connection cut after 1 MB", url=through)
        figures.append(f"cut: {cut.value.message}")
        assert counts() == first
    half = f"SELECT * FROM {schema}.orders WHERE id % 2 = 0"
    with step_raises(DeletionsRefused) as refused:
        timed("source with half of its rows", query=half, primary_key="id", partition_column="id")
    figures.append(f"half: {refused.value.message}")
    assert counts() == first
    timed("1 % deleted, 0.1 % changed")
    assert counts() == [(ROWS - ROWS // 100,) * 2 + (sum(i for i in range(1, ROWS + 1) if i % 100),)]
    timed("nothing deleted")
    with capsys.disabled():
        print("", *figures, *(f"{name}: {seconds:.1f} s" for name, seconds in times.items()), sep="\n")  # noqa: T201
