"""Replays of the quarantine without Spark: small tables on Delta, and a database."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest
from tests.step_failures import step_raises
from tests.unit.pipeline.quarantined import quarantine, quarantined, rows_in_quarantine

import penstock
from penstock import destinations
from penstock.errors import DataValidationError, UndoRefused
from penstock.package.replayed_rows import ORIGIN_KEY, with_origin
from penstock.pipeline.replay import (
    FAILS_CHECK,
    MERGES_GROUPS,
    NESTED,
    NOT_JSON,
    NOT_LOADED,
    OTHER_SCHEMA,
    QuarantineGroup,
    select_rows,
    with_refused,
)
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

ORDERS = [{"id": 1, "note": "a", "items": [{"sku": "A1"}]}]
NEW = [{"id": number, "colour": "red", "items": [{"sku": f"A{number}"}]} for number in (2, 3, 4)]
UNREADABLE = quarantined("{'id': 5", path="[]", rule="json", reason="it cannot be read")
NESTED_ROW = quarantined({"sku": "B", "size": 1}, table_name="orders__items", path='["items",0,"size"]')


@pytest.fixture(params=["delta", pytest.param("duckdb", marks=pytest.mark.at_length)])
def pipeline(request: pytest.FixtureRequest, tmp_path: Path, no_spark: None) -> Pipeline:
    """Return a pipeline with orders."""
    by_kind = {
        "delta": lambda: destinations.delta(bucket_url=str(tmp_path / "lake")),
        "duckdb": lambda: destinations.duckdb(str(tmp_path / "shop.duckdb")),
    }
    pipeline = penstock.pipeline(
        "shop",
        destination=by_kind[request.param](),
        dataset_name="demo",
        pipelines_dir=str(tmp_path / "pipelines"),
    )
    pipeline.run(ORDERS, table_name="orders")
    return pipeline


def ids(pipeline: Pipeline) -> list[int]:
    """Return the ids of the visible orders."""
    return sorted(pipeline.dataset()["orders"].arrow().column("id").to_pylist())


@pytest.mark.parametrize("pipeline", ["delta", "duckdb"], indirect=True)
def test_replayed_rows_are_loaded_once_and_leave_the_quarantine(pipeline: Pipeline) -> None:
    quarantine(pipeline, [*map(quarantined, NEW), UNREADABLE, NESTED_ROW])
    left = [row for row in rows_in_quarantine(pipeline) if "colour" not in row["raw"]]

    replay = pipeline.replay_quarantine()

    assert (replay.replayed, replay.refused_again, replay.skipped) == (3, 0, 2)
    assert {rows.reason for rows in replay.skipped_rows} == {NOT_JSON, NESTED}
    dataset = pipeline.dataset()
    assert ids(pipeline) == [1, 2, 3, 4]
    assert sorted(dataset["orders__items"].arrow().column("sku").to_pylist()) == ["A1", "A2", "A3", "A4"]
    assert [row for row in dataset["orders"].arrow().column_names if "origin" in row] == []
    # Not even the ids of the rows that stay have changed.
    assert [{**row, "replayed": None} for row in rows_in_quarantine(pipeline)] == [
        {**row, "replayed": None} for row in left
    ]
    assert pipeline.replay_quarantine().load_ids == ()


def test_an_emptied_quarantine_takes_rows_again(pipeline: Pipeline) -> None:
    quarantine(pipeline, [quarantined(NEW[0])])

    pipeline.replay_quarantine()

    assert rows_in_quarantine(pipeline) == []
    quarantine(pipeline, [quarantined(NEW[1])])
    pipeline.replay_quarantine()
    assert ids(pipeline) == [1, 2, 3]
    assert rows_in_quarantine(pipeline) == []


def test_only_rows_of_a_table_and_a_rule_are_replayed(pipeline: Pipeline) -> None:
    buyer = quarantined({"name": "Ada"}, resource_name="buyers", table_name="buyers", path="[]")
    keyless = quarantined(NEW[1], rule="primary_key: discard_row")
    quarantine(pipeline, [quarantined(NEW[0]), buyer, keyless])

    by_rule = pipeline.replay_quarantine("orders", "columns")

    assert (by_rule.replayed, ids(pipeline)) == (1, [1, 2])
    assert pipeline.replay_quarantine(rule="primary_key: discard_row").replayed == 1
    assert pipeline.replay_quarantine("buyers").replayed == 1
    assert pipeline.dataset()["buyers"].fetchall()[0][0] == "Ada"
    assert rows_in_quarantine(pipeline) == []


def test_a_replay_is_undone_where_tables_have_versions(pipeline: Pipeline) -> None:
    quarantine(pipeline, [quarantined(NEW[0]), UNREADABLE])
    before = rows_in_quarantine(pipeline)
    pipeline.replay_quarantine()

    if pipeline.destination is not None and pipeline.destination.destination_name == "duckdb":
        with step_raises(UndoRefused, match="_dlt_quarantine"):
            pipeline.undo()
        assert ids(pipeline) == [1, 2]
        return
    pipeline.undo()

    assert (ids(pipeline), rows_in_quarantine(pipeline)) == ([1], before)
    pipeline.replay_quarantine()
    assert ids(pipeline) == [1, 2]


def test_a_dry_run_changes_nothing(pipeline: Pipeline) -> None:
    quarantine(pipeline, [quarantined(NEW[0])])

    preview = pipeline.replay_quarantine(dry_run=True)

    assert (preview.replayed, preview.load_ids) == (1, ())
    assert str(preview).startswith("Replay of 1 row of _dlt_quarantine, pipeline shop:\n")
    assert ids(pipeline) == [1]
    assert len(rows_in_quarantine(pipeline)) == 1


def test_cursors_and_state_are_unchanged(pipeline: Pipeline) -> None:
    @penstock.resource(name="orders")
    def orders(updated: Any = penstock.sources.incremental("id")) -> Iterator[dict[str, int]]:
        yield {"id": (updated.last_value or 0) + 1}

    pipeline.run(orders())
    quarantine(pipeline, [quarantined({"id": 700, "colour": "red"})])
    before = pipeline.state["sources"]

    pipeline.replay_quarantine()

    assert pipeline.state["sources"] == before
    pipeline.run(orders())
    assert ids(pipeline) == [1, 1, 2, 700]


def test_rows_of_a_replaced_table_are_appended_by_a_replay(pipeline: Pipeline) -> None:
    pipeline.run([{"code": 1}], table_name="prices", write_disposition="replace")
    row = quarantined({"code": 2}, resource_name="prices", table_name="prices")
    quarantine(pipeline, [row])

    pipeline.replay_quarantine()

    assert sorted(pipeline.dataset()["prices"].arrow().column("code").to_pylist()) == [1, 2]
    pipeline.run([{"code": 3}], table_name="prices", write_disposition="replace")
    assert pipeline.dataset()["prices"].arrow().column("code").to_pylist() == [3]


def test_a_pending_package_is_loaded_first(pipeline: Pipeline) -> None:
    quarantine(pipeline, [quarantined(NEW[0])])
    pipeline.extract([{"id": 9}], table_name="orders")

    replay = pipeline.replay_quarantine()

    assert (replay.replayed, ids(pipeline)) == (1, [1, 2, 9])


def test_a_frozen_contract_refuses_the_replay_and_changes_nothing(pipeline: Pipeline) -> None:
    quarantine(pipeline, [quarantined(NEW[0])])

    with step_raises(DataValidationError, match="there is no column colour"):
        pipeline.replay_quarantine(schema_contract="freeze")

    assert (ids(pipeline), len(rows_in_quarantine(pipeline))) == ([1], 1)
    assert not pipeline.has_pending_data
    assert pipeline.replay_quarantine(schema_contract="evolve").replayed == 1
    assert ids(pipeline) == [1, 2]


def test_rows_with_types_of_their_own_keep_them(pipeline: Pipeline) -> None:
    at = "\uf0272024-01-02T03:04:05+00:00"  # a timestamp as extract writes it
    quarantine(pipeline, [quarantined('{"id": 2, "colour": "red", "at": "' + at + '"}')])

    pipeline.replay_quarantine()

    column = pipeline.default_schema.tables["orders"].columns["at"]
    assert column.data_type == "timestamp"
    assert pipeline.dataset()["orders"].arrow().column("at").drop_null().to_pylist()[0].year == 2024


# --- decisions

TABLES: Final[dict[str, dict[str, Any]]] = {
    "orders": {"write_disposition": "append", "columns": {"id": {"data_type": "bigint"}}},
    "orders__items": {"parent": "orders", "columns": {"sku": {"data_type": "text"}}},
    "prices": {"write_disposition": "replace"},
    "buyers": {"write_disposition": "merge", "columns": {"id": {"primary_key": True}}},
    "days": {"write_disposition": "merge", "columns": {"day": {"merge_key": True}}},
    "history": {"write_disposition": "merge", "x-merge-strategy": "scd2"},
    "nothing": {"write_disposition": "skip"},
    "_dlt_quarantine": {"x-normalizer": {"seen-data": True}},
}
SCHEMA: Final = Schema("shop")
SCHEMA.update(
    SCHEMA.stored.with_tables(
        Table.from_dict({"name": name, **values}, name=name) for name, values in TABLES.items()
    )
)


def group(table: str = "orders", **values: Any) -> QuarantineGroup:
    """Return a group of two rows that can be replayed, unless the values say otherwise."""
    defaults = {"resource": table, "rule": "columns: discard_row", "is_root_path": False, "is_json": True}
    return QuarantineGroup(**{"table": table, "rows": 2, **defaults, **values})


@pytest.mark.parametrize(
    ("table", "disposition"),
    [("orders", "append"), ("prices", "append"), ("buyers", "merge")],
)
def test_rows_are_written_by_the_disposition_of_their_table(table: str, disposition: str) -> None:
    selection = select_rows([group(table)], {"shop": SCHEMA})

    assert [(chosen.write_disposition, chosen.rows) for chosen in selection.tables] == [(disposition, 2)]


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (group("orders__items"), NESTED),
        (group("orders__gifts"), NESTED),
        (group("orders", is_json=False), NOT_JSON),
        (group("days"), MERGES_GROUPS),
        (group("history"), MERGES_GROUPS),
        (group("nothing"), NOT_LOADED),
    ],
)
def test_rows_that_cannot_be_loaded_alone_are_left(left: QuarantineGroup, reason: str) -> None:
    selection = select_rows([left, group()], {"shop": SCHEMA})

    assert [(rows.rows, rows.reason) for rows in selection.skipped] == [(2, reason)]
    assert selection.groups == (group(),)


def test_rows_that_fail_a_check_are_loaded_only_if_their_rule_is_selected() -> None:
    failing = group("orders", rule="expectation:valid amount", is_root_path=True)

    all_rules = select_rows([failing, group()], {"shop": SCHEMA})
    by_rule = select_rows([failing, group()], {"shop": SCHEMA}, rule="expectation")

    assert all_rules.groups == (group(),)
    assert [(rows.rows, rows.reason) for rows in all_rules.skipped] == [(2, FAILS_CHECK)]
    assert by_rule.groups == (failing,)


def test_a_refused_table_is_created_by_the_replay_of_its_rows() -> None:
    refused = group("refunds", rule="tables: discard_row", is_root_path=True)

    selection = select_rows([refused], {"shop": SCHEMA})

    assert [table.table for table in selection.tables] == ["refunds"]


def test_rows_of_two_schemas_are_replayed_by_a_load_each() -> None:
    other = Schema("crm")
    other.update(
        other.stored.with_tables(
            [Table(name="leads", write_disposition="append"), SCHEMA.tables["_dlt_quarantine"]]
        )
    )

    selection = select_rows([group("leads"), group()], {"shop": SCHEMA, "crm": other})

    assert selection.schema_names == ("crm", "shop")
    assert selection.of_schema("crm").groups == (group("leads"),)


def test_rows_of_a_schema_without_a_quarantine_table_are_skipped() -> None:
    other = Schema("crm")
    other.update(other.stored.with_tables([Table(name="leads", write_disposition="append")]))

    selection = select_rows([group("leads")], {"shop": SCHEMA, "crm": other})

    assert [rows.reason for rows in selection.skipped] == [OTHER_SCHEMA]


def test_rows_that_are_refused_again_are_counted_by_table() -> None:
    tables = select_rows([group(), group(resource="imports")], {"shop": SCHEMA}).tables

    counted = with_refused(tables, {"orders": 3})

    assert Counter({table.resource: table.refused_again for table in counted}) == {"imports": 2, "orders": 1}


@pytest.mark.parametrize("raw", ["{}", '{"a": 1}', ' {"a": {"b": []} } \n'])
def test_a_row_with_its_origin_is_the_row_with_one_more_key(raw: str) -> None:
    text = with_origin(raw, {"_dlt_id": "x", "reason": 'a "word"', "item": None})

    row = orjson.loads(text)
    assert orjson.loads(bytes.fromhex(row.pop(ORIGIN_KEY))) == {"_dlt_id": "x", "reason": 'a "word"'}
    assert row == orjson.loads(raw)
