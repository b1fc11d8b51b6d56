from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.dataset.system_tables import SYSTEM_SCHEMAS, system_row, visible_rows
from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, SYSTEM_TABLE_NAMES, VERSION_TABLE

DLT_ROW = {
    "load_id": "1794709965.5110981",
    "schema_name": "dltpipe",
    "status": 0,
    "inserted_at": "2026-11-15T02:32:47.448741+00:00",
    "schema_version_hash": "e8IhSkvTxIRdIvdYvLzwkPkLkpxuKFZJlKdKzFRM2sY=",
}


def test_a_row_of_dlt_has_nothing_where_we_have_more_columns() -> None:
    assert system_row(LOADS_TABLE, DLT_ROW) == (
        "1794709965.5110981",
        "dltpipe",
        0,
        datetime(2026, 11, 15, 2, 32, 47, 448741, UTC),
        DLT_ROW["schema_version_hash"],
        None,
        None,
        None,
        None,
    )


def test_nested_values_are_shown_as_json() -> None:
    row = system_row(LOADS_TABLE, {**DLT_ROW, "tables": {"items": {"after": 0}}})

    assert row[-1] == '{"items":{"after":0}}'


def test_columns_that_we_do_not_know_are_left_out() -> None:
    assert len(system_row(STATE_TABLE, {"_dlt_load_id": "1", "surprise": 2})) == 7


@pytest.mark.parametrize("table", SYSTEM_TABLE_NAMES)
def test_a_row_has_as_many_values_as_its_table_has_columns(table: str) -> None:
    assert len(system_row(table, {})) == len(SYSTEM_SCHEMAS[table].split(", "))


def test_rows_of_loads_that_a_reader_does_not_see_are_hidden() -> None:
    loads = [{"load_id": "1", "schema_version_hash": "a"}, {"load_id": "2", "schema_version_hash": "b"}]
    states = [{"_dlt_load_id": "1"}, {"_dlt_load_id": "3"}]
    versions = [{"version_hash": "a"}, {"version_hash": "b"}, {"version_hash": "c"}]

    assert visible_rows(LOADS_TABLE, loads, loads, {"1"}) == loads[:1]
    assert visible_rows(STATE_TABLE, states, loads, {"1", "2"}) == states[:1]
    assert visible_rows(VERSION_TABLE, versions, loads, {"1"}) == versions[:1]
    assert visible_rows(VERSION_TABLE, versions, loads, {"1", "2"}) == versions[:2]
