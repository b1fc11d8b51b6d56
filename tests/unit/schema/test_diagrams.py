from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema import Column, Schema, Table, TableRelation, decide, gather, relations
from penstock.schema.box_diagram import to_box_diagram


def shop() -> Schema:
    schema = Schema("shop")
    reference = {
        "columns": ["who"],
        "referenced_table": "people",
        "referenced_columns": ["id"],
        "label": "buys",
    }
    schema.update_table(
        Table(
            name="orders",
            write_disposition="merge",
            extras={"references": [reference], "description": "it's"},
        )
    )
    schema.update_table(
        Table(
            name="people", columns={"id": Column(name="id", data_type="bigint", hints={"primary_key": True})}
        )
    )
    schema.update(decide(schema.stored, "orders", gather([{"who": 5, "items": [{"<a>": "x"}]}])).schema)
    return schema


def test_relations_are_declared_ones_and_those_of_system_columns() -> None:
    assert set(relations(shop().stored, include_dlt_tables=False)) == {
        TableRelation(table="orders", columns=("who",), to_table="people", to_columns=("id",), label="buys"),
        TableRelation(
            table="orders__items",
            columns=("_dlt_parent_id",),
            to_table="orders",
            to_columns=("_dlt_id",),
            label="_dlt_parent",
        ),
        TableRelation(
            table="orders__items",
            columns=("_dlt_root_id",),
            to_table="orders",
            to_columns=("_dlt_id",),
            label="_dlt_root",
        ),
    }
    with_system = {(relation.table, relation.to_table) for relation in relations(shop().stored)}
    assert {("orders", "_dlt_loads"), ("_dlt_loads", "_dlt_version")} <= with_system


def test_mermaid_shows_tables_columns_keys_and_relations() -> None:
    text = shop().to_mermaid(include_dlt_tables=False)

    assert text.splitlines()[0] == "erDiagram"
    assert "        bigint id PK" in text
    assert "        text _dlt_parent_id FK" in text
    assert '    "orders" }o--|| "people" : "buys"' in text
    assert "_dlt_loads" not in text


def test_columns_can_be_hidden() -> None:
    assert "bigint" not in shop().to_mermaid(hide_columns=True)
    assert "bigint" not in shop().to_dot(hide_columns=True)


def test_special_characters_are_escaped_in_diagrams() -> None:
    schema = Schema("odd")
    hints = {"description": 'say "hi"\nor \\ not', "unique": True}
    schema.update_table(
        Table(name='a"b <c>', columns={"x y": Column(name="x y", data_type="text", hints=hints)}),
        normalize_identifiers=False,
    )

    assert "        text x_y UK \"say 'hi' or \\ not\"" in schema.to_mermaid()
    assert "a&quot;b &lt;c&gt;" in schema.to_dot()
    assert 'Table "a\'b <c>" {' in schema.to_dbml()


def test_dbml_shows_keys_notes_and_references() -> None:
    text = shop().to_dbml(include_dlt_tables=False)

    assert 'Table "orders" {' in text
    assert '    "id" bigint [pk]' in text
    assert "    Note: 'it\\'s'" in text
    assert 'Ref: "orders"."who" > "people"."id"' in text


def test_a_reference_to_an_unknown_table_is_drawn_or_left_out() -> None:
    schema = shop()
    schema.drop_tables(["people"])

    assert '"orders":e0 -> "people" [' in schema.to_dot()
    assert "people" not in schema.to_dbml()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("hide_columns", [True, False])
def test_graphviz_renders_the_diagram(hide_columns: bool) -> None:
    done = subprocess.run(
        ["dot", "-Tsvg"],
        input=shop().to_dot(hide_columns=hide_columns),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == ""
    assert "orders__items" in done.stdout


WIDE = """\
┌ orders ──────────────────┐   ┌ orders__items ───────────────────┐  ┌ people ─────────┐
│ who      bigint  new     ├───┤ _ax             text             │  │ id  bigint  key │
│ _dlt_id  text    row key │   │ _dlt_parent_id  text  parent key │  └─────────────────┘
└──────────────────────────┘   └──────────────────────────────────┘"""
NARROW = """\
┌ orders ──────────────────┐
│ who      bigint          │
│ _dlt_id  text    row key │
└┬─────────────────────────┘
 │ ┌ orders__items ───────────────────┐
 └─┤ _ax             text             │
   │ _dlt_parent_id  text  parent key │
   └──────────────────────────────────┘
┌ people ─────────┐
│ id  bigint  key │
└─────────────────┘"""


def test_nested_tables_are_boxes_beside_or_below_their_parents() -> None:
    assert to_box_diagram(shop().stored, width=100, new_columns=[("orders", "who")]) == WIDE
    assert to_box_diagram(shop().stored, width=50) == NARROW


@given(st.integers(10, 120), st.lists(st.text(min_size=1, max_size=40), max_size=4), st.integers(0, 3))
def test_box_diagrams_fit_into_the_width(width: int, names: list[str], depth: int) -> None:
    columns = {name: Column(name=name, data_type="text") for name in names}
    tables = [Table(name="t", columns=columns)]
    for _ in range(depth):
        tables += [
            Table(name=f"{tables[-1].name}__{name}", parent=tables[-1].name, columns=columns) for name in "ab"
        ]
    stored = Schema("shop").stored.with_tables(tables)

    lines = to_box_diagram(stored, width=width).split("\n")

    assert max(map(len, lines)) <= max(width, 5 + 3 * depth)
