"""Paths of references between tables."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.dataset.join_path import Hop, join_path
from penstock.errors import UsageError


def reference(table: str, referenced: str, **columns: str) -> dict[str, Any]:
    return {
        "table": table,
        "referenced_table": referenced,
        "columns": list(columns),
        "referenced_columns": list(columns.values()),
    }


REFERENCES = [
    reference("items__tags", "items", _dlt_parent_id="_dlt_id"),
    reference("items__tags__names", "items__tags", _dlt_parent_id="_dlt_id"),
    reference("items", "buyers", buyer_id="id", buyer_country="country"),
    reference("items", "_dlt_loads", _dlt_load_id="load_id"),
    reference("buyers", "_dlt_loads", _dlt_load_id="load_id"),
    reference("others", "_dlt_loads", _dlt_load_id="load_id"),
]


def test_a_nested_table_is_joined_with_its_parent_and_back() -> None:
    down, up = ("_dlt_id", "_dlt_parent_id"), ("_dlt_parent_id", "_dlt_id")

    assert join_path(REFERENCES, "items__tags", "items") == [Hop("items__tags", "items", (up,))]
    assert join_path(REFERENCES, "items", "items__tags") == [Hop("items", "items__tags", (down,))]


def test_a_path_leads_through_tables_between_two() -> None:
    hops = join_path(REFERENCES, "items__tags__names", "buyers")

    assert [hop.table for hop in hops] == ["items__tags", "items", "buyers"]
    assert hops[-1].pairs == (("buyer_id", "id"), ("buyer_country", "country"))


def test_system_tables_end_a_path_and_are_never_inside_of_it() -> None:
    assert [hop.table for hop in join_path(REFERENCES, "items", "_dlt_loads")] == ["_dlt_loads"]
    with pytest.raises(UsageError, match="no reference leads from items to others"):
        join_path(REFERENCES, "items", "others")
