"""Typed files that jobs read as extract wrote them: when, and under which columns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from penstock.interfaces.file_schema import array_type, map_type, struct_field, struct_type
from penstock.normalize.frames import typed_files
from penstock.normalize.passthrough import can_pass_through, file_columns, frame_file_columns
from penstock.normalize.plan import is_kept_as_json
from penstock.normalize.table_inputs import TableInput
from penstock.package.extract_manifest import ExtractedTable
from penstock.package.job_file import FrameFileColumn
from penstock.schema import Schema, Table, decide

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout
    from penstock.schema import Decision

FLAT = struct_type(
    [
        struct_field("id", "integer", name="id"),
        struct_field("Unit Price", "decimal(10,2)", name="c_7015111a6b486cc4"),
        struct_field("at", struct_type([struct_field("Lat", "double", name="lat")]), name="at"),
        struct_field("seen", map_type("string", "long"), name="seen"),
    ]
)
NESTED = struct_type(
    [struct_field("id", "long", name="id"), struct_field("tags", array_type("string"), name="tags")]
)


def extracted(columns: Any) -> ExtractedTable:
    return ExtractedTable(
        table="t",
        resource="t",
        write_disposition="append",
        folder="data/extracted/00000",
        rows=3,
        bytes=30,
        files=2,
        data_format="typed",
        columns=columns,
    )


def table_input(columns: Any, *, folders: int = 1) -> TableInput:
    names = tuple(f"data/extracted/{number:05d}" for number in range(folders))
    return TableInput(table=extracted(columns), folders=names, columns=columns, rows=3)


def decide_columns(columns: Any, table: Table | None = None) -> tuple[Decision, NestedLayout]:
    stored = Schema("shop").stored
    schema = stored.with_tables([table]) if table else stored
    decision = decide(schema, "t", typed_files(columns, rows=3).evidence)
    return decision, typed_files(columns, rows=3, kept_as_json=partial(is_kept_as_json, decision)).layout


def passes_through(columns: Any, *, folders: int = 1, table: Table | None = None) -> bool:
    decision, layout = decide_columns(columns, table)
    return can_pass_through(table_input(columns, folders=folders), layout, decision)


def table_with(**hints: Any) -> Table:
    column = {"name": "id", "data_type": "bigint", "nullable": False, "primary_key": True}
    return Table.from_dict({"name": "t", "columns": {"id": column}, **hints})


def test_files_without_lists_pass_through() -> None:
    assert passes_through(FLAT)
    assert passes_through(FLAT, folders=8)


@pytest.mark.parametrize("columns", [NESTED, struct_type([])])
def test_files_with_lists_or_without_columns_are_written(columns: Any) -> None:
    assert not passes_through(columns)


def test_very_many_folders_are_written_together() -> None:
    assert not passes_through(FLAT, folders=9)


def test_files_of_tables_with_hashed_row_ids_are_written() -> None:
    upsert = table_with(write_disposition="merge", **{"x-merge-strategy": "upsert"})

    assert passes_through(FLAT, table=table_with(write_disposition="append"))
    assert not passes_through(FLAT, table=upsert)


def test_files_with_refused_values_are_written() -> None:
    frozen = table_with(write_disposition="append", schema_contract={"columns": "discard_value"})
    decision, _ = decide_columns(FLAT, frozen)

    assert decision.refusals
    assert not passes_through(FLAT, table=frozen)


def test_a_job_reads_columns_by_their_names_in_the_files() -> None:
    _, layout = decide_columns(FLAT)

    assert file_columns(FLAT) == (
        "`id` INT, `c_7015111a6b486cc4` DECIMAL(10,2), `at` STRUCT<`lat`: DOUBLE>, `seen` MAP<STRING, BIGINT>"
    )
    assert frame_file_columns(FLAT, layout) == (
        FrameFileColumn(column="id", field="id", sql_type="BIGINT"),
        FrameFileColumn(column="c_7015111a6b486cc4", field="k1", sql_type="DECIMAL(10,2)"),
        FrameFileColumn(column="at", field="at", sql_type="STRUCT<`Lat`: DOUBLE>"),
        FrameFileColumn(column="seen", field="seen", sql_type="MAP<STRING, BIGINT>"),
    )


def test_timestamps_are_read_with_their_kind_whatever_the_default_of_the_session() -> None:
    inner = struct_type([struct_field("at", "timestamp", name="at")])
    columns = struct_type(
        [
            struct_field("at", "timestamp", name="at"),
            struct_field("local", "timestamp_ntz", name="local"),
            struct_field("inner", inner, name="inner"),
            struct_field("all", array_type(map_type("string", "timestamp")), name="all"),
        ]
    )

    assert file_columns(columns) == (
        "`at` TIMESTAMP_LTZ, `local` TIMESTAMP_NTZ, `inner` STRUCT<`at`: TIMESTAMP_LTZ>,"
        " `all` ARRAY<MAP<STRING, TIMESTAMP_LTZ>>"
    )
