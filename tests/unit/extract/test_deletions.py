"""Deletions of a resource: only its table sees them, they come before the rows, and too many are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data
from tests.unit.extract.test_frame_writer import DataFrame, LocalFrameEngine

import penstock
from penstock.errors import DeletionsRefused, UsageError
from penstock.interfaces.deletions import DeletedRows
from penstock.package import Package, Packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.extract.run import ExtractResult

UPSERT = {"disposition": "merge", "strategy": "upsert"}
HISTORY = {"disposition": "merge", "strategy": "scd2"}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def extract_deletions(
    package: Package, disposition: Any, *, rows: int = 2, limit: int = 5, mode: Any = "hard"
) -> ExtractResult:
    """Extract deletions and then rows, which a step and a limit see."""

    def check_count(count: int) -> None:
        if count > limit:
            raise DeletionsRefused(table="orders", missing=count, rows=10, max_deleted=limit / 10)

    def orders() -> Iterator[Any]:
        yield DeletedRows(DataFrame(rows, row_count=rows), mode=mode, check_count=check_count)
        yield [{"id": 1}]
        yield [{"id": 2}]

    resource = penstock.resource(orders, name="orders", primary_key="id", write_disposition=disposition)
    limited = resource.add_map(lambda row: {"id": row["id"] * 10}).add_limit(1)
    return extract_data(limited, package, frame_engine=LocalFrameEngine())


def test_deletions_pass_no_step_and_no_limit_and_come_first(package: Package) -> None:
    result = extract_deletions(package, UPSERT)

    assert [(table.data_format, table.rows) for table in result.extracted.tables] == [
        ("typed", 2),
        ("rows", 1),
    ]
    assert result.report.resources == {"orders": 3}


def test_a_table_without_deletions_has_no_files_for_them(package: Package) -> None:
    result = extract_deletions(package, UPSERT, rows=0)

    assert [table.data_format for table in result.extracted.tables] == ["rows"]
    assert not list(package.store.tree("data/extracted/00000"))


def test_a_replaced_table_has_no_rows_to_delete(package: Package) -> None:
    result = extract_deletions(package, "replace")

    assert [table.data_format for table in result.extracted.tables] == ["rows"]


def test_too_many_deletions_fail_the_extraction(package: Package) -> None:
    with pytest.raises(DeletionsRefused, match=r"lacks 6 of the 10 rows of orders \(60.0%\)"):
        extract_deletions(package, UPSERT, rows=6)


@pytest.mark.parametrize(("disposition", "mode"), [("append", "hard"), (HISTORY, "soft"), (UPSERT, "scd2")])
def test_a_table_that_cannot_delete_is_refused(package: Package, disposition: Any, mode: Any) -> None:
    with pytest.raises(UsageError, match=f"delete_missing='{mode}' cannot delete rows of orders"):
        extract_deletions(package, disposition, mode=mode)
