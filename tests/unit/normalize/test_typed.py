from __future__ import annotations

from typing import Any

import pytest

from penstock.interfaces.file_schema import array_type, map_type, struct_field, struct_type
from penstock.normalize.nested_layout import sql_type
from penstock.normalize.plan import is_kept_as_json, plan_tables
from penstock.normalize.typed_files import typed_files, with_decimal_precision
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


def decided(columns: Any = COLUMNS, *, table: Table | None = None) -> Decision:
    stored = Schema("shop").stored
    known = stored.with_tables([table]) if table else stored
    files = typed_files(columns, rows=3)
    return with_decimal_precision(decide(known, "t", files.evidence), files.precisions, naming_convention())


def test_columns_become_paths_and_lists_become_tables() -> None:
    decision = decided()

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
    price = decided().schema.tables["t"].columns["unit_price"]

    assert (price.precision, price.scale) == (10, 2)


@pytest.mark.parametrize(("digits", "goes_to"), [((12, 2), "unit_price"), ((10, 1), "unit_price__v_decimal")])
def test_a_column_with_fewer_digits_is_not_used(digits: tuple[int, int], goes_to: str) -> None:
    known = {"data_type": "decimal", "precision": digits[0], "scale": digits[1]}
    table = Table.from_dict({"name": "t", "columns": {"unit_price": known}})

    decision = decided(table=table)

    assert decision.rules[("Unit Price",), "decimal"].column == goes_to
    assert decision.schema.tables["t"].columns[goes_to].has("variant") == (goes_to != "unit_price")


def test_what_is_declared_json_is_kept_whole() -> None:
    table = Table.from_dict({"name": "t", "columns": {"parts": {"data_type": "json"}}})
    decision = decided(table=table)

    def is_whole(path: Any, form: Any) -> bool:
        return is_kept_as_json(decision, path, form)

    dataset = typed_files(COLUMNS, rows=3, kept_as_json=is_whole).layout
    assert "`parts`: ARRAY<STRUCT<`n`: INT>>" in sql_type(dataset.root)
    names = [one.name for one in plan_tables(decision, dataset)[0].projection.columns]
    assert "parts" in names


def test_short_whole_numbers_fit_columns_of_fractions() -> None:
    columns = struct_type([struct_field("a", "integer", name="a"), struct_field("b", "long", name="b")])
    known = {"a": {"data_type": "double"}, "b": {"data_type": "double"}}

    decision = decided(columns, table=Table.from_dict({"name": "t", "columns": known}))

    assert decision.rules[("a",), "bigint"].column == "a"
    assert decision.rules[("b",), "bigint"].column == "b__v_bigint"
