from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.interfaces.file_schema import struct_field, struct_type
from penstock.normalize.table_inputs import table_inputs
from penstock.package.extract_manifest import ExtractedTable


def entry(table: str, folder: int, *, rows: int = 1, **kinds: str) -> ExtractedTable:
    columns: Any = (
        struct_type(struct_field(key, kind, name=key) for key, kind in kinds.items()) if kinds else None
    )
    return ExtractedTable(
        table=table,
        resource=table,
        write_disposition="append",
        folder=f"data/extracted/{folder:05d}",
        rows=rows,
        bytes=0,
        files=1,
        data_format="typed" if kinds else "rows",
        columns=columns,
    )


def test_frames_that_fit_are_read_together_and_others_for_themselves() -> None:
    found = table_inputs(
        [
            entry("a", 0, x="long"),
            entry("b", 1),
            entry("a", 2),
            entry("a", 3, rows=5, x="long", y="string"),
            entry("a", 4, x="string"),
            entry("a", 5, rows=0, x="long"),
        ]
    )

    assert [
        (table, [(len(one.folders), one.rows) for one in readings]) for table, readings in found.items()
    ] == [
        ("a", [(2, 6), (1, 1), (1, 1)]),
        ("b", [(1, 1)]),
    ]
    first = found["a"][0]
    assert first.columns is not None
    assert [column["name"] for column in first.columns["fields"]] == ["x", "y"]
    assert found["a"][1].columns is None


def test_tables_without_rows_are_not_read() -> None:
    assert table_inputs([entry("a", 0, rows=0)]) == {}


def test_rows_that_stand_in_two_folders_are_read_together() -> None:
    (reading,) = table_inputs([entry("a", 0, rows=2), entry("a", 1, rows=3)])["a"]

    assert (reading.folders, reading.rows) == (("data/extracted/00000", "data/extracted/00001"), 5)


def test_a_table_that_is_replaced_by_nothing_has_a_reading_without_a_folder() -> None:
    replaced = [
        replace(one, write_disposition="replace")
        for one in (entry("none", 0, rows=0), entry("some", 1, rows=0), entry("some", 2, rows=3))
    ]

    found = table_inputs([entry("appended", 3, rows=0), *replaced])

    assert {name: [(one.folders, one.rows) for one in readings] for name, readings in found.items()} == {
        "some": [(("data/extracted/00002",), 3)],
        "none": [((), 0)],
    }
