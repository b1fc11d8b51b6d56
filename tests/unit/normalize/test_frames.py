from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.interfaces.file_schema import array_type, map_type, struct_field, struct_type
from penstock.normalize.frames import typed_files, with_decimal_precision
from penstock.normalize.nested_layout import sql_type
from penstock.normalize.plan import is_kept_as_json, plan_tables
from penstock.schema import Decision, Schema, Table, decide, naming_convention

COLUMNS = struct_type(
    [
        struct_field("id", "long", name="id"),
        struct_field("Unit Price", "decimal(10,2)", name="unit_price"),
        struct_field("hour", "string", name="hour", logical_type="time"),
        struct_field("tags", array_type("string"), name="tags"),
        struct_field(
            "parts", array_type(struct_type([struct_field("n", "integer", name="n")])), name="parts"
        ),
        struct_field("seen", map_type("string", "long"), name="seen"),
    ]
)


def decide_columns(columns: Any = COLUMNS, *, table: Table | None = None) -> Decision:
    stored = Schema("shop").stored
    schema = stored.with_tables([table]) if table else stored
    files = typed_files(columns, rows=3)
    return with_decimal_precision(decide(schema, "t", files.evidence), files.precisions, naming_convention())


def test_fields_become_columns_and_lists_become_tables() -> None:
    decision = decide_columns()

    types = {name: column.data_type for name, column in decision.schema.tables["t"].columns.items()}
    assert types == {
        "id": "bigint",
        "unit_price": "decimal",
        "hour": "time",
        "seen": "json",
        "_dlt_load_id": "text",
        "_dlt_id": "text",
    }
    plans = plan_tables(decision, typed_files(COLUMNS, rows=3).layout)
    assert [plan.table.name for plan in plans] == ["t", "t__tags", "t__parts"]


def test_new_columns_have_as_many_digits_as_the_files() -> None:
    price = decide_columns().schema.tables["t"].columns["unit_price"]

    assert (price.precision, price.scale) == (10, 2)


@pytest.mark.parametrize(("digits", "column"), [((12, 2), "unit_price"), ((10, 1), "unit_price__v_decimal")])
def test_decimals_too_large_for_a_column_go_to_a_variant(digits: tuple[int, int], column: str) -> None:
    column_document = {"data_type": "decimal", "precision": digits[0], "scale": digits[1]}
    table = Table.from_dict({"name": "t", "columns": {"unit_price": column_document}})

    decision = decide_columns(table=table)

    assert decision.rules[("Unit Price",), "decimal"].column == column
    assert decision.schema.tables["t"].columns[column].has("variant") == (column != "unit_price")


def test_a_list_whose_column_is_declared_json_is_kept_as_json() -> None:
    table = Table.from_dict({"name": "t", "columns": {"parts": {"data_type": "json"}}})
    decision = decide_columns(table=table)

    layout = typed_files(COLUMNS, rows=3, kept_as_json=partial(is_kept_as_json, decision)).layout

    assert "`parts`: ARRAY<STRUCT<`n`: INT>>" in sql_type(layout.root)
    names = [column.name for column in plan_tables(decision, layout)[0].projection.columns]
    assert "parts" in names


def test_integers_of_up_to_32_bits_fit_double_columns() -> None:
    columns = struct_type([struct_field("a", "integer", name="a"), struct_field("b", "long", name="b")])
    stored = {"a": {"data_type": "double"}, "b": {"data_type": "double"}}

    decision = decide_columns(columns, table=Table.from_dict({"name": "t", "columns": stored}))

    assert decision.rules[("a",), "bigint"].column == "a"
    assert decision.rules[("b",), "bigint"].column == "b__v_bigint"


@pytest.mark.parametrize(("kind", "written"), [("integer", "long"), ("byte", "long"), ("float", "double")])
def test_the_evidence_of_a_widened_column_is_that_of_its_original_type(kind: str, written: str) -> None:
    widened = typed_files(struct_type([struct_field("x", written, name="x", original=kind)]), rows=3)

    assert widened == typed_files(struct_type([struct_field("x", kind, name="x")]), rows=3)
