from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.load.plan import next_sequence, waves
from penstock.package import TableEntry
from penstock.schema import Table


def entry(table: str) -> TableEntry:
    return TableEntry(table=table, job=f"{table}.x.0.reference", write_disposition="append")


@given(
    parents=st.dictionaries(st.text("abc", min_size=1, max_size=3), st.none() | st.just("root"), max_size=8)
)
def test_every_table_is_applied_once_and_roots_come_last(parents: dict[str, str | None]) -> None:
    tables = {name: Table(name=name, parent=parent) for name, parent in parents.items()}

    found = waves([entry(name) for name in parents], tables)

    applied = [applied.table for wave in found for applied in wave]
    assert sorted(applied) == sorted(parents)
    assert all(found)
    assert len(found) <= 2
    nested = [tables[name].is_nested for name in applied]
    assert nested == sorted(nested, reverse=True)


def test_nested_tables_of_any_depth_share_a_wave() -> None:
    tables = {
        "t": Table(name="t"),
        "t__a": Table(name="t__a", parent="t"),
        "t__a__b": Table(name="t__a__b", parent="t__a"),
    }

    found = waves([entry("t__a__b"), entry("t__a"), entry("t")], tables)

    assert [[applied.table for applied in wave] for wave in found] == [["t__a__b", "t__a"], ["t"]]


def test_a_table_that_the_schema_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        waves([entry("t")], {})


def test_numbers_of_loads_are_dense_and_begin_at_one() -> None:
    assert [next_sequence(last) for last in (None, 1, 41)] == [1, 2, 42]
