"""Loads into a file of DuckDB, with rows that the driver writes: no Spark is started."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from tests.conftest import AT_LENGTH
from tests.injection_names import NAMES
from tests.unit.destinations.duckdb.databases import is_locked, pipeline_into, rows_of, tables_of

import penstock
from penstock import destinations
from penstock.destinations.duckdb.adapter import DuckDbClient
from penstock.errors import DatabaseFileLocked, InvalidDatasetName, PipelineStepFailed, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces import LoadCommit

pytestmark = pytest.mark.usefixtures("no_spark")
ORDERS = [
    {"id": 1, "buyer": {"name": "Ada"}, "items": [{"sku": "A7", "qty": 2}, {"sku": "B2", "qty": 1}]},
    {"id": 2, "buyer": {"name": "Grace"}, "items": [{"sku": "A7", "qty": 5}]},
]


def test_the_file_has_the_name_of_the_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = penstock.pipeline("shop", destination="duckdb", pipelines_dir=str(tmp_path / "pipelines"))

    pipeline.run(ORDERS, table_name="orders")

    with duckdb.connect("shop.duckdb") as connection:
        assert connection.execute("SELECT id FROM shop.shop.orders ORDER BY id").fetchall() == [(1,), (2,)]


def test_nested_rows_are_appended(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)

    pipeline.run(ORDERS, table_name="orders")
    pipeline.run(ORDERS[:1], table_name="orders")

    assert rows_of(tmp_path, "SELECT id, buyer__name FROM orders ORDER BY id") == [
        (1, "Ada"),
        (1, "Ada"),
        (2, "Grace"),
    ]
    joined = "SELECT o.id, i.sku FROM orders o JOIN orders__items i ON i._dlt_parent_id = o._dlt_id"
    assert len(rows_of(tmp_path, joined)) == 5


def test_all_rows_are_replaced_with_those_of_nested_tables(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)

    pipeline.run(ORDERS, table_name="orders", write_disposition="replace")
    pipeline.run([{"id": 3}], table_name="orders", write_disposition="replace")

    assert rows_of(tmp_path, "SELECT id, buyer__name FROM orders") == [(3, None)]
    assert rows_of(tmp_path, "SELECT count(*) FROM orders__items") == [(0,)]


@pytest.mark.parametrize("disposition", ["append", "replace", "merge"])
def test_a_declared_table_is_created_once_without_rows(tmp_path: Path, disposition: Any) -> None:
    pipeline = pipeline_into(tmp_path)
    columns = [{"name": "id", "data_type": "bigint"}, {"name": "text", "data_type": "text"}]

    @penstock.resource(columns=columns, write_disposition=disposition, primary_key="id")
    def orders(rows: tuple[dict[str, Any], ...] = ()) -> Any:
        yield penstock.mark.materialize_table_schema()
        yield from rows

    pipeline.run(orders())
    empty = pipeline.dataset()["orders"].arrow()
    pipeline.run(orders(({"id": 1, "text": "a"},)))
    again = pipeline.run(orders())

    assert (empty.schema.names[:2], empty.num_rows) == (["id", "text"], 0)
    rows = [] if disposition == "replace" else [(1, "a")]
    assert rows_of(tmp_path, "SELECT id, text FROM orders") == rows
    assert bool(again.loads_ids) is (disposition == "replace")


def test_frames_of_flat_columns_are_appended_replaced_and_merged(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    first = pa.table({"id": [1, 2], "price": [1.5, None], "day": [date(2026, 1, 1), date(2026, 1, 2)]})
    second = pa.table({"id": [2, 3], "price": [2.5, 3.5], "day": [None, None]})
    dispositions: dict[str, Any] = {
        "append": {},
        "replace": {"write_disposition": "replace"},
        "merge": {"write_disposition": "merge", "primary_key": "id"},
    }

    for frame in (first, second):
        pipeline.run([penstock.resource(frame, name=name, **hints) for name, hints in dispositions.items()])

    query = "SELECT id, price, CAST(day AS VARCHAR) FROM {} ORDER BY id, price"
    old = [(1, 1.5, "2026-01-01"), (2, None, "2026-01-02")]
    new = [(2, 2.5, None), (3, 3.5, None)]
    assert rows_of(tmp_path, query.format("append")) == [old[0], new[0], old[1], new[1]]
    assert rows_of(tmp_path, query.format("replace")) == new
    assert rows_of(tmp_path, query.format("merge")) == [old[0], *new]
    assert rows_of(tmp_path, "SELECT count(DISTINCT _dlt_id) FROM append") == [(4,)]


def test_columns_are_added_and_variants_are_columns_of_their_own(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)

    pipeline.run([{"id": 1}], table_name="orders")
    pipeline.run([{"id": "two", "note": "new"}], table_name="orders")

    assert rows_of(tmp_path, "SELECT id, id__v_text, note FROM orders ORDER BY id NULLS LAST") == [
        (1, None, None),
        (None, "two", "new"),
    ]


def test_each_type_has_the_type_that_dlt_has_there(tmp_path: Path) -> None:
    row = {
        "name": "ä",
        "weight": 0.5,
        "is_new": True,
        "at": datetime(2026, 5, 1, 12, 30, tzinfo=UTC),
        "day": date(2026, 5, 1),
        "opens": time(9, 30),
        "price": Decimal("9.75"),
        "picture": b"\x00\xff",
        "extra": {"a": [1]},
    }
    hints: Any = {"extra": {"data_type": "json"}}

    pipeline_into(tmp_path).run([row], table_name="items", columns=hints)

    types = (
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_name = 'items' AND column_name NOT LIKE '\\_dlt%' ESCAPE '\\'"
    )
    assert dict(rows_of(tmp_path, types)) == {
        "name": "VARCHAR",
        "weight": "DOUBLE",
        "is_new": "BOOLEAN",
        "at": "TIMESTAMP WITH TIME ZONE",
        "day": "DATE",
        "opens": "TIME",
        "price": "DECIMAL(38,9)",
        "picture": "BLOB",
        "extra": "JSON",
    }
    selected = ", ".join(map(_quoted, row))
    (values,) = rows_of(tmp_path, f"SELECT {selected} FROM items")
    stored = dict(zip(row, values, strict=True))
    assert json.loads(stored.pop("extra")) == row.pop("extra")
    assert stored == row


def test_a_load_that_dies_before_its_commit_leaves_nothing_and_is_loaded_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(ORDERS, table_name="orders")

    def die(self: DuckDbClient, load: LoadCommit) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DuckDbClient, "commit_load", die)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run([{"id": 3, "note": "new"}], table_name="orders")

    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'orders'"
    assert ("note",) not in rows_of(tmp_path, columns)
    assert rows_of(tmp_path, "SELECT count(*) FROM _dlt_loads") == [(1,)]
    pipeline.run()
    assert rows_of(tmp_path, "SELECT id, note FROM orders WHERE id = 3") == [(3, "new")]
    assert rows_of(tmp_path, "SELECT count(*) FROM _dlt_loads") == [(2,)]


def test_a_load_whose_decision_fails_is_rolled_back_with_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(ORDERS, table_name="orders")
    commit_load = DuckDbClient.commit_load

    def commit_without_lease(self: DuckDbClient, load: LoadCommit) -> Any:
        def refuse() -> None:
            assert rows_of(tmp_path, "SELECT count(*) FROM orders") == [(2,)]
            raise UsageError("the lease is lost", hint="none")

        object.__setattr__(load, "confirm", refuse)
        return commit_load(self, load)

    with monkeypatch.context() as patched:
        patched.setattr(DuckDbClient, "commit_load", commit_without_lease)
        with pytest.raises(PipelineStepFailed, match="the lease is lost"):
            pipeline.run([{"id": 3, "note": "new", "tags": ["a"]}], table_name="orders")

    assert tables_of(tmp_path) == [
        "_dlt_loads",
        "_dlt_pipeline_state",
        "_dlt_version",
        "orders",
        "orders__items",
    ]
    assert rows_of(tmp_path, "SELECT count(*) FROM orders") == [(2,)]
    pipeline.drop_pending_packages()
    pipeline.run([{"id": 4}], table_name="orders")
    assert rows_of(tmp_path, "SELECT id FROM orders ORDER BY id") == [(1,), (2,), (4,)]


def test_a_new_machine_goes_on_with_schema_and_state(tmp_path: Path) -> None:
    @penstock.resource(primary_key="id")
    def orders(last: Any = penstock.sources.incremental("id")) -> Any:
        yield [{"id": number} for number in range(1, 6) if number > (last.last_value or 0)]

    pipeline_into(tmp_path).run(orders())
    (tmp_path / "pipelines").rename(tmp_path / "lost")
    pipeline = pipeline_into(tmp_path)
    pipeline.run(orders())

    assert rows_of(tmp_path, "SELECT id FROM orders ORDER BY id") == [(number,) for number in range(1, 6)]
    assert pipeline.default_schema.tables["orders"].has_seen_data


def test_a_refresh_drops_tables_in_the_same_transaction(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(ORDERS, table_name="orders")

    pipeline.run([{"id": 7}], table_name="orders", refresh="drop_sources")

    assert "orders__items" not in tables_of(tmp_path)
    assert rows_of(tmp_path, "SELECT * EXCLUDE (_dlt_load_id, _dlt_id) FROM orders") == [(7,)]


def test_an_open_connection_is_used_and_stays_open() -> None:
    with duckdb.connect(":memory:") as connection:
        pipeline = penstock.pipeline("shop", destination=destinations.duckdb(connection), dataset_name="demo")
        pipeline.run([{"id": 1}], table_name="orders")
        assert connection.execute("SELECT id FROM demo.orders").fetchall() == [(1,)]


def test_a_database_in_memory_needs_its_connection() -> None:
    with pytest.raises(UsageError, match="ends with its connection"):
        penstock.pipeline("shop", destination=destinations.duckdb(":memory:")).run(
            [{"id": 1}], table_name="orders"
        )


def test_a_file_that_another_process_has_opened_is_named_with_that_process(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    program = (
        f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(PipelineStepFailed) as failed:
            pipeline_into(tmp_path).run([{"id": 1}], table_name="orders")
        other.communicate()

    assert isinstance(failed.value.exception, DatabaseFileLocked)
    assert str(other.pid) in failed.value.message
    pipeline_into(tmp_path).run([{"id": 1}], table_name="orders")
    assert rows_of(tmp_path, "SELECT id FROM orders") == [(1,)]


def test_a_run_opens_the_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, connect, were_locked = pipeline_into(tmp_path), duckdb.connect, list[bool]()

    def counting_connect(path: str) -> duckdb.DuckDBPyConnection:
        were_locked.append(is_locked(tmp_path))
        return connect(path)

    with monkeypatch.context() as patched:
        patched.setattr(duckdb, "connect", counting_connect)
        pipeline.run(ORDERS, table_name="orders")

    assert were_locked.count(False) == 1


@pytest.mark.parametrize("fails", [False, True], ids=["complete", "failed"])
def test_other_processes_open_the_file_once_a_run_has_ended(tmp_path: Path, *, fails: bool) -> None:
    pipeline, while_running = pipeline_into(tmp_path), list[bool]()

    def orders() -> Any:
        while_running.append(is_locked(tmp_path))
        yield ORDERS
        if fails:
            raise ZeroDivisionError

    with pytest.raises(PipelineStepFailed) if fails else nullcontext():
        pipeline.run(orders, table_name="orders")

    assert while_running == [True]
    assert not is_locked(tmp_path)


def test_no_name_or_value_is_run_as_a_statement(tmp_path: Path) -> None:
    folder = tmp_path / "a'b [x]*"
    folder.mkdir()
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE victims (id BIGINT)")
    # With `direct`, most characters are unchanged; the default convention would leave only letters.
    pipeline = pipeline_into(folder, naming_convention="direct")
    resources = [
        penstock.resource(
            [{"id": index, name: name, "list": [{name: name}]}], name=f"r{index}", table_name=name
        )
        for index, name in enumerate(NAMES)
    ]

    for _ in range(2 if AT_LENGTH else 1):
        pipeline.run(resources, write_disposition="merge", primary_key="id")

    # Names that differ only in characters that no name has share a table.
    tables = [name for name in pipeline.default_schema.data_table_names() if not name.endswith("list")]
    rows = [row for table in tables for row in rows_of(folder, f"SELECT * FROM {_quoted(table)}")]
    lost = [name for index, name in enumerate(NAMES) if not any({index, name} <= {*row} for row in rows)]
    assert lost == []
    assert len(rows) == len(NAMES)
    assert rows_of(folder, "SELECT count(*) FROM main.victims") == [(0,)]


@pytest.mark.parametrize("name", ['x"; DROP SCHEMA main CASCADE; --', "a b", "%s", "new\nline"])
def test_a_dataset_name_that_is_no_plain_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidDatasetName):
        penstock.pipeline("shop", destination="duckdb", dataset_name=name, pipelines_dir=str(tmp_path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
