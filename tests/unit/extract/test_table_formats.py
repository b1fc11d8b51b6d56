from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extracted

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


@pytest.mark.parametrize(("said", "told"), [(None, "plain files"), ("iceberg", "'iceberg'")])
def test_a_merge_without_a_table_format_of_the_destination_is_refused(
    package: Package, said: str | None, told: str
) -> None:
    merged = penstock.resource(
        [{"a": 1}], name="items", table_format=said, write_disposition="merge", primary_key="a"
    )
    with pytest.raises(PenstockError) as refused:
        extracted(merged, package, table_formats=FORMATS)

    assert isinstance(refused.value, UsageError)
    assert told in refused.value.message
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

    done = extracted(data, package, table_formats=FORMATS, schema_tables=before)

    assert [one.table for one in done.extracted.tables] == ["items", "known", "plain"]


def test_without_table_formats_at_the_destination_none_is_required(package: Package) -> None:
    assert extracted(penstock.resource([{"a": 1}], name="items"), package).report.rows == 1
