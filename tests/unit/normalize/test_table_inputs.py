from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.interfaces.file_schema import struct_field, struct_type
from penstock.normalize.table_inputs import table_inputs
from penstock.package.extract_manifest import ExtractedTable


def entry(table: str, folder: int, *, rows: int = 1, is_flat: bool = False, **kinds: str) -> ExtractedTable:
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
        data_format="flat" if is_flat else "typed" if kinds else "rows",
        columns=columns,
    )


def test_frames_of_compatible_types_are_read_together_and_others_separately() -> None:
    inputs = table_inputs(
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
        (table, [(len(each.folders), each.rows) for each in table_list])
        for table, table_list in inputs.items()
    ] == [
        ("a", [(2, 6), (1, 1), (1, 1)]),
        ("b", [(1, 1)]),
    ]
    first = inputs["a"][0]
    assert first.columns is not None
    assert [column["name"] for column in first.columns["fields"]] == ["x", "y"]
    assert inputs["a"][1].columns is None


def test_tables_without_rows_have_no_input() -> None:
    assert table_inputs([entry("a", 0, rows=0)]) == {}


def test_rows_of_two_folders_are_read_together() -> None:
    (table_input,) = table_inputs([entry("a", 0, rows=2), entry("a", 1, rows=3)])["a"]

    assert (table_input.folders, table_input.rows) == (("data/extracted/00000", "data/extracted/00001"), 5)


def test_a_table_replaced_without_rows_has_an_input_without_a_folder() -> None:
    replaced = [
        replace(table, write_disposition="replace")
        for table in (entry("none", 0, rows=0), entry("some", 1, rows=0), entry("some", 2, rows=3))
    ]

    inputs = table_inputs([entry("appended", 3, rows=0), *replaced])

    assert {
        name: [(each.folders, each.rows) for each in table_list] for name, table_list in inputs.items()
    } == {
        "some": [(("data/extracted/00002",), 3)],
        "none": [((), 0)],
    }


def test_files_are_flat_if_all_folders_are_and_have_the_same_columns() -> None:
    flat = entry("a", 0, is_flat=True, x="long")

    def is_flat(*others: ExtractedTable) -> bool:
        (table_input,) = table_inputs([flat, *others])["a"]
        return table_input.is_flat

    assert is_flat()
    assert is_flat(entry("a", 1, is_flat=True, x="long"))
    assert not is_flat(entry("a", 1, is_flat=True, x="long", y="long"))
    assert not is_flat(entry("a", 1, x="long"))
    assert not is_flat(entry("a", 1, x="long"), entry("a", 2, is_flat=True, x="long"))
