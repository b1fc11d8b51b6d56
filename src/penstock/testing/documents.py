"""Tables as documents: every root row with its nested rows; and rows for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Tables = Mapping[str, Sequence[Mapping[str, Any]]]
    from collections.abc import Iterator


def documents(tables: Tables, root: str) -> dict[str, Any]:
    """Return the documents of a root table and its nested tables, without ids of rows.

    `rows` are the sorted documents, without nulls and the engine's columns, except those of history.
    `orphans` counts nested rows without a parent, by table.

    >>> tables = {
    ...     "items": [{"id": 1, "_dlt_id": "a"}],
    ...     "items__tags": [{"value": "x", "_dlt_parent_id": "a", "_dlt_list_idx": 0, "_dlt_id": "b"}],
    ... }
    >>> documents(tables, "items")
    {'rows': [{'id': 1, 'tags': [{'value': 'x'}]}], 'orphans': {}}
    """
    rows = [_document(row, root, tables) for row in tables.get(root, ())]
    orphans = {table: _orphan_count(table, tables) for table in tables if table != root}
    return {
        "rows": sorted(rows, key=repr),
        "orphans": {table: count for table, count in orphans.items() if count},
    }


def _document(row: Mapping[str, Any], table: str, tables: Tables) -> dict[str, Any]:
    document = {
        name: value for name, value in row.items() if value is not None and not _is_system_column(name)
    }
    for below in sorted(tables):
        if _parent(below, tables) == table:
            rows = [
                nested_row for nested_row in tables[below] if nested_row["_dlt_parent_id"] == row["_dlt_id"]
            ]
            ordered = sorted(rows, key=lambda nested_row: (nested_row["_dlt_list_idx"], repr(nested_row)))
            if ordered:
                document[below.removeprefix(f"{table}__")] = [
                    _document(nested_row, below, tables) for nested_row in ordered
                ]
    return dict(sorted(document.items()))


def _orphan_count(table: str, tables: Tables) -> int:
    above = {row["_dlt_id"] for row in tables.get(_parent(table, tables), ())}
    return sum(row["_dlt_parent_id"] not in above for row in tables[table])


def _parent(table: str, tables: Tables) -> str:
    """Return the table above, whose name is the longest prefix: lists of nested objects have long names."""
    prefix = table.rpartition("__")[0]
    while prefix and prefix not in tables:
        prefix = prefix.rpartition("__")[0]
    return prefix


def _is_system_column(column: str) -> bool:
    return column.startswith("_dlt") and not column.startswith("_dlt_valid")


def nested_rows(count: int) -> Iterator[dict[str, Any]]:
    """Return small nested rows: an object, a list of objects and a list of texts in each.

    >>> row = next(nested_rows(1))
    >>> row["seller"], row["tags"], row["parts"]
    ({'city': 'town 0', 'rating': 0}, ['t0', 'u0'], [{'sku': 'p0', 'weight': 0.25}])
    """
    for number in range(count):
        yield {
            "id": number,
            "name": f"item {number}",
            "price": number + 0.5,
            "seller": {"city": f"town {number % 100}", "rating": number % 5},
            "tags": [f"t{number % 7}", f"u{number % 11}"],
            "parts": [{"sku": f"p{number}", "weight": number / 4 + 0.25}],
        }
