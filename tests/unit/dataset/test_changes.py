"""Statements that change tables reach the tables where they are, and only those of the dataset."""

from __future__ import annotations

import pytest

from penstock.dataset.dml import resolve_tables
from penstock.errors import UsageError

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
def test_tables_of_the_dataset_are_written_as_they_are_called_in_sql(text: str, expected: str) -> None:
    assert resolve_tables(text, dataset="demo", tables=TABLES) == expected


@pytest.mark.parametrize("text", ["DROP TABLE items", "SHOW TABLES", "SET x = 1", "DELETE FROM ((", ""])
def test_what_is_no_change_of_rows_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not run on a dataset"):
        resolve_tables(text, dataset="demo", tables=TABLES)
