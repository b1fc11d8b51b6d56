from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.query_text import (
    bind_values,
    escape_braces,
    frame_placeholder,
    is_query,
    mentioned_tables,
    resolve_tables,
    with_table_frames,
    without_dataset_name,
)
from penstock.errors import UsageError

NAMES = st.text(alphabet="abcdefgh_", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("SELECT 1 WHERE a = %s", [1], "SELECT 1 WHERE a = :value_0"),
        ("SELECT '%s', a %% 2 WHERE b = %s -- %s", [1], "SELECT '%s', a % 2 WHERE b = :value_0 -- %s"),
        ("SELECT `%s` WHERE a LIKE 'x%%' AND b = %s", [1], "SELECT `%s` WHERE a LIKE 'x%' AND b = :value_0"),
        (r"SELECT 'it\'s %s', %s", [1], r"SELECT 'it\'s %s', :value_0"),
        ("SELECT a % 2 FROM t WHERE b = %s", [1], "SELECT a % 2 FROM t WHERE b = :value_0"),
        ("SELECT %s, /* %s */ %s", [1, 2], "SELECT :value_0, /* %s */ :value_1"),
    ],
)
def test_a_placeholder_is_substituted_unless_it_is_quoted(
    text: str, values: list[Any], expected: str
) -> None:
    statement = bind_values(text, values)

    assert (statement.text, list(statement.values.values())) == (expected, values)


def test_named_values_are_bound_by_name() -> None:
    statement = bind_values("SELECT %(a)s, %(b)s, %(a)s", named={"a": 1, "b": "x", "more": 2})

    assert (statement.text, statement.values) == ("SELECT :a, :b, :a", {"a": 1, "b": "x", "more": 2})


def test_values_of_a_query_are_read_from_a_frame() -> None:
    statement = bind_values(escape_braces("SELECT '{x}', %s"), ["y"], placeholder=frame_placeholder)

    assert statement.text.format(values="v") == "SELECT '{x}', (SELECT `value_0` FROM v)"


@pytest.mark.parametrize(
    ("text", "values", "named"),
    [
        ("SELECT %s", [1, 2], {}),
        ("SELECT %s, %s", [1], {}),
        ("SELECT 1", [1], {}),
        ("SELECT %(a)s", [], {"b": 1}),
        ("SELECT %s", [], {"b": 1}),
        ("SELECT %s, %(b)s", [1], {"b": 1}),
    ],
)
def test_values_that_do_not_match_the_placeholders_are_refused(
    text: str, values: list[Any], named: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        bind_values(text, values, named)


@given(st.text(alphabet="%sab'\"` ()-/*?", max_size=30))
def test_a_text_without_values_is_unchanged(text: str) -> None:
    assert bind_values(text).text == text


@given(st.lists(st.one_of(st.integers(), st.text()), min_size=1, max_size=5))
def test_a_value_is_never_part_of_the_text(values: list[Any]) -> None:
    text = " AND ".join(["x = %s"] * len(values))

    statement = bind_values(text, values)

    assert statement.text == bind_values(text, [None] * len(values)).text
    assert list(statement.values.values()) == values


@given(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.data())
def test_every_table_that_a_query_reads_is_found(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    form = data.draw(
        st.sampled_from([name, name.upper(), f"`{name}`", f"{name}\nWHERE 1", f"(SELECT * FROM {name})"])
    )

    assert name in mentioned_tables(f"SELECT * FROM {form}", names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT demo.items.id FROM demo.items", "SELECT items.id FROM items"),
        ("SELECT * FROM `demo` . `Items` i", "SELECT * FROM `Items` i"),
        (
            "SELECT 'demo.items', demo.other FROM demo.unknown",
            "SELECT 'demo.items', demo.other FROM demo.unknown",
        ),
        ("SELECT * FROM other.demo.items -- demo.items", "SELECT * FROM other.demo.items -- demo.items"),
        ("SELECT items.demo FROM items", "SELECT items.demo FROM items"),
    ],
)
def test_the_dataset_name_is_removed_from_its_tables_only(text: str, expected: str) -> None:
    assert without_dataset_name(text, "demo", ["items"]) == expected


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=8), max_size=4, unique=True))
def test_braces_in_a_query_are_not_placeholders(text: str, tables: list[str]) -> None:
    query, places = with_table_frames(escape_braces(text), tables)

    assert list(places.values()) == tables
    assert re.sub(r"[\s;]+\Z", "", text) in query.format(**dict.fromkeys(places, "frame"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", True),
        ("\n -- note\n WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("((SELECT 1) UNION (SELECT 2))", True),
        ("FROM items |> LIMIT 1", True),
        ("VALUES (1)", True),
        ("INSERT INTO t SELECT 1", False),
        ("selection", False),
        ("", False),
    ],
)
def test_queries_are_distinguished_from_changes(text: str, expected: bool) -> None:
    assert is_query(text) is expected


TABLES = {"items": "delta.`b/items`", "orders": "delta.`b/orders`"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM items WHERE id = ?", "DELETE FROM delta.`b/items` AS items WHERE id = ?"),
        (
            "UPDATE demo.items SET name = :x WHERE items.id = 1",
            "UPDATE delta.`b/items` AS items SET name = :x WHERE items.id = 1",
        ),
        (
            "INSERT INTO items (id) SELECT id FROM orders WHERE orders.id = 1",
            "INSERT INTO delta.`b/items` (id) SELECT id FROM delta.`b/orders` AS orders WHERE orders.id = 1",
        ),
        ("INSERT INTO ITEMS VALUES (?)", "INSERT INTO delta.`b/items` VALUES (?)"),
        (
            "MERGE INTO items i USING orders o ON TRUE WHEN MATCHED THEN DELETE",
            "MERGE INTO delta.`b/items` AS i USING delta.`b/orders` AS o ON TRUE WHEN MATCHED THEN DELETE",
        ),
        ("DELETE FROM elsewhere.items", "DELETE FROM elsewhere.items"),
    ],
)
def test_tables_of_the_dataset_are_replaced_by_their_sql_names(text: str, expected: str) -> None:
    assert resolve_tables(text, dataset="demo", tables=TABLES) == expected


@pytest.mark.parametrize("text", ["DROP TABLE items", "SHOW TABLES", "SET x = 1", "DELETE FROM ((", ""])
def test_a_statement_that_changes_no_rows_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="does not run this statement"):
        resolve_tables(text, dataset="demo", tables=TABLES)
