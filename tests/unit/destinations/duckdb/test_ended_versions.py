"""Rows that end a version without a new one, as deletions of a source that keeps no history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.destinations.duckdb.databases import pipeline_into, rows_of

import penstock
from penstock.interfaces.deletions import DELETED_AT_COLUMN, ENDS_VERSION_HINT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_spark")


def versions(rows: list[dict[str, Any]]) -> Any:
    return penstock.resource(
        rows,
        name="cities",
        merge_key="id",
        write_disposition={"disposition": "merge", "strategy": "scd2"},
        columns={DELETED_AT_COLUMN: {"data_type": "timestamp", ENDS_VERSION_HINT: True}},
    )


def test_a_row_with_the_hint_ends_the_version_of_its_key_and_begins_none(tmp_path: Path) -> None:
    pipeline = pipeline_into(tmp_path)
    pipeline.run(
        versions([{"id": 1, "city": "London"}, {"id": 2, "city": "Paris"}, {"id": 3, "city": "Rome"}])
    )

    pipeline.run(versions([{"id": 2, DELETED_AT_COLUMN: "2026-05-04T10:00:00Z"}, {"id": 3, "city": "Oslo"}]))

    rows = rows_of(tmp_path, "SELECT id, city, _dlt_valid_to IS NULL FROM cities ORDER BY id, 3")
    assert rows == [(1, "London", True), (2, "Paris", False), (3, "Rome", False), (3, "Oslo", True)]
