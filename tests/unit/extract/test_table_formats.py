from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data

import penstock
from penstock.errors import PenstockError, UsageError
from penstock.package import Package, Packages
from penstock.schema import Table

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = frozenset({"delta"})


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


@pytest.mark.parametrize(("table_format", "description"), [(None, "plain files"), ("iceberg", "'iceberg'")])
def test_a_merge_without_a_table_format_of_the_destination_is_refused(
    package: Package, table_format: str | None, description: str
) -> None:
    merged = penstock.resource(
        [{"a": 1}], name="items", table_format=table_format, write_disposition="merge", primary_key="a"
    )
    with pytest.raises(PenstockError) as refused:
        extract_data(merged, package, table_formats=FORMATS)

    assert isinstance(refused.value, UsageError)
    assert description in refused.value.message
    assert "table_format" in refused.value.hint


def test_a_merge_with_a_declared_or_stored_table_format_is_written(package: Package) -> None:
    merge: dict[str, Any] = {"write_disposition": "merge", "primary_key": "a"}
    before = {"known": Table.from_dict({"name": "known", "resource": "known", "table_format": "delta"})}
    data: list[Any] = [
        penstock.resource([{"a": 1}], name="items", table_format="delta", **merge),
        penstock.resource([{"a": 1}], name="known", **merge),
        penstock.resource([{"a": 1}], name="plain"),
        penstock.resource([{"a": 1}], name="skipped", write_disposition="skip"),
    ]

    done = extract_data(data, package, table_formats=FORMATS, schema_tables=before)

    assert [table.table for table in done.extracted.tables] == ["items", "known", "plain"]


def test_without_table_formats_at_the_destination_none_is_required(package: Package) -> None:
    assert extract_data(penstock.resource([{"a": 1}], name="items"), package).report.rows == 1
