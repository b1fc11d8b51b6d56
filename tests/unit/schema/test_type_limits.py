"""Limits of a destination's column types, as the decision about a batch applies them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.schema import Column, InferenceOptions, Schema, Table, TypeLimits, decide, gather
from penstock.schema.spark_types import NESTED_TYPE_HINT


@pytest.mark.parametrize(
    ("limits", "column", "expected"),
    [
        ({}, {"data_type": "decimal"}, {}),
        ({"decimal": (18, 4)}, {"data_type": "decimal"}, {"precision": 18, "scale": 4}),
        ({"decimal": (18, 4)}, {"data_type": "decimal", "precision": 10}, {"precision": 10}),
        ({"decimal": (18, 4)}, {"data_type": "decimal", "scale": 2}, {"precision": 18, "scale": 2}),
        ({"decimal": (18, 4)}, {"data_type": "wei"}, {}),
        ({"wei": (30, 0)}, {"data_type": "wei"}, {"precision": 30, "scale": 0}),
        ({"timestamp": 3}, {"data_type": "timestamp", "precision": 6}, {"precision": 3}),
        ({"timestamp": 3}, {"data_type": "time", "precision": 2}, {"precision": 2}),
        ({"timestamp": 3}, {"data_type": "timestamp"}, {}),
        ({"timezones": False}, {"data_type": "timestamp"}, {"timezone": False}),
        ({"timezones": True}, {"data_type": "timestamp", "timezone": False}, {}),
        ({"timezones": False}, {"data_type": "time"}, {}),
        ({"nested": False}, {"data_type": "json", NESTED_TYPE_HINT: '"long"'}, {}),
        ({}, {"data_type": "json", NESTED_TYPE_HINT: '"long"'}, {NESTED_TYPE_HINT: '"long"'}),
    ],
)
def test_a_column_is_declared_within_the_limits(
    limits: dict[str, Any], column: dict[str, Any], expected: dict[str, Any]
) -> None:
    limited = TypeLimits(**limits).limited(Column.from_dict(column, name="c"))

    assert limited.to_dict() == {"name": "c", "data_type": column["data_type"], **expected}
    assert TypeLimits(**limits).limited(limited) == limited, "a second time changes nothing"


def test_new_and_declared_columns_of_a_batch_are_within_the_limits() -> None:
    schema = Schema("shop")
    schema.update_table(
        Table.from_dict({"name": "items", "columns": {"price": {"name": "price", "data_type": "decimal"}}})
    )
    options = InferenceOptions(type_limits=TypeLimits(decimal=(18, 4), timezones=False))
    rows = gather([{"price": 1, "at": "2026-11-15T00:00:00Z"}])

    decision = decide(schema.stored, "items", rows, options)

    columns = decision.update["items"].columns
    assert (columns["price"].precision, columns["price"].scale) == (18, 4)
    assert columns["at"].timezone is False
    assert decide(decision.schema, "items", rows, options).update == {}
