from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.extraction import extract_data

import penstock
from penstock.extract.plan import Workload
from penstock.package import Package, Packages
from penstock.schema import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEEN = {"x-normalizer": {"seen-data": True}}
STORED = {
    "items": Table.from_dict({"name": "items", "resource": "items", **SEEN}),
    "items__tags": Table.from_dict({"name": "items__tags", "parent": "items", **SEEN}),
    "more_items": Table.from_dict({"name": "more_items", "resource": "items", **SEEN}),
    "declared": Table.from_dict({"name": "declared", "resource": "items"}),
    "others": Table.from_dict({"name": "others", "resource": "others", **SEEN}),
}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def nothing() -> Iterator[Any]:
    yield []


def test_a_replacing_resource_without_rows_empties_its_tables(package: Package) -> None:
    resource = penstock.resource(nothing, name="items", write_disposition="replace")

    done = extract_data([resource, penstock.resource(nothing, name="others")], package, schema_tables=STORED)

    assert [(table.table, table.rows, table.write_disposition) for table in done.extracted.tables] == [
        ("items", 0, "replace"),
        ("more_items", 0, "replace"),
    ]
    assert done.has_changes
    assert type(done.extracted).from_dict(done.extracted.to_dict()) == done.extracted


def test_a_replacing_resource_with_a_row_leaves_its_other_tables_unchanged(package: Package) -> None:
    done = extract_data(
        penstock.resource([{"a": 1}], name="items", write_disposition="replace"),
        package,
        schema_tables=STORED,
    )

    assert [(table.table, table.rows) for table in done.extracted.tables] == [("items", 1)]


def test_no_table_is_emptied_that_does_not_exist(package: Package) -> None:
    resource = penstock.resource(nothing, name="new", write_disposition="replace")

    done = extract_data(resource, package, schema_tables=STORED)

    assert (done.extracted.tables, done.has_changes) == ((), False)


def test_a_deselected_or_failed_resource_empties_no_table(package: Package) -> None:
    def broken() -> Iterator[Any]:
        yield from nothing()
        raise RuntimeError("gone")

    deselected = penstock.resource(nothing, name="items", write_disposition="replace", selected=False)
    failing = penstock.resource(broken, name="items", write_disposition="replace")
    other = penstock.resource([{"a": 1}], name="others")

    first = extract_data([deselected, other], package, schema_tables=STORED)
    second = extract_data(
        [failing, other], package, schema_tables=STORED, workload=Workload(on_error="continue")
    )

    assert [table.table for table in first.extracted.tables] == ["others"]
    assert [table.table for table in second.extracted.tables] == ["others"]
