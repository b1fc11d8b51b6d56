"""Diagrams of schemas as HTML."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.pages.test_elements import HOSTILE, Reader

from penstock.schema import Schema
from penstock.schema.html_diagram import table_sections, to_html_diagram


@pytest.fixture
def shop() -> Schema:
    schema = Schema("shop")
    number: Any = {"data_type": "bigint"}
    text: Any = {"data_type": "text"}
    keys: dict[str, Any] = {
        "_dlt_id": {"data_type": "text", "row_key": True, "nullable": False},
        "id": {**number, "primary_key": True, "nullable": False, "description": HOSTILE},
    }
    schema.update_table({"name": "orders", "columns": {**keys, HOSTILE: text}})
    link: dict[str, Any] = {"_dlt_parent_id": {"data_type": "text", "parent_key": True}}
    schema.update_table({"name": "orders__items", "parent": "orders", "columns": {**link, "sku": text}})
    schema.update_table(
        {"name": HOSTILE, "columns": {"price": {"data_type": "decimal", "precision": 9, "scale": 2}}}
    )
    return schema


def test_nested_tables_are_inside_the_item_of_their_parent(shop: Schema) -> None:
    html = to_html_diagram(shop.stored)

    before, after = html.split("orders__items", maxsplit=1)
    assert before.count("<ul") - before.count("</ul>") == 2
    assert before.count("<li") - before.count("</li>") == 2
    assert "_dlt" not in after


def test_names_and_hints_are_escaped(shop: Schema) -> None:
    html = to_html_diagram(shop.stored, anchors="t") + table_sections(shop.stored, anchors="t")

    assert "script" not in Reader(html).tags
    assert HOSTILE in Reader(html).text


def test_a_box_links_to_the_section_of_its_table(shop: Schema) -> None:
    diagram, sections = to_html_diagram(shop.stored, anchors="t"), table_sections(shop.stored, anchors="t")

    for anchor in ("t-0", "t-1", "t-2"):
        assert f'href="#{anchor}"' in diagram
        assert f'id="{anchor}"' in sections


def test_a_section_has_types_keys_and_references(shop: Schema) -> None:
    text = Reader(table_sections(shop.stored, anchors="t")).text

    assert f"idbigintnoprimary key, description: {HOSTILE}" in text
    assert "decimal(9, 2)" in text
    assert "_dlt_parent_id \u2192 orders (_dlt_id)" in text


def test_a_box_of_many_columns_has_the_number_of_those_that_it_lacks() -> None:
    schema = Schema("shop")
    schema.update_table({"name": "wide", "columns": {f"c{i}": {"data_type": "bigint"} for i in range(30)}})

    html = to_html_diagram(schema.stored)

    assert html.count("<dt>") == 12
    assert "and 18 more" in html
    assert "c29" in Reader(table_sections(schema.stored, anchors="t")).text


def test_a_notebook_shows_the_diagram(shop: Schema) -> None:
    html = shop._repr_html_()

    assert str(to_html_diagram(shop.stored)) in html
    assert "script" not in Reader(html).tags
