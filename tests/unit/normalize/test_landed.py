"""Rows that stay where they were landed: when, and how a job reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.interfaces.file_schema import array_type, map_type, struct_field, struct_type
from penstock.normalize.jobs import NormalizedPart, add_jobs, written_bytes
from penstock.normalize.passthrough import can_pass_through, file_columns, frame_file_columns
from penstock.normalize.plan import is_kept_as_json, plan_tables
from penstock.normalize.report import root_report
from penstock.normalize.table_inputs import TableInput
from penstock.normalize.typed_files import typed_files
from penstock.package import DataFolder
from penstock.package.extract_manifest import ExtractedTable
from penstock.package.frame_columns import FrameFileColumn
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


def reading(columns: Any, *, folders: int = 1) -> TableInput:
    names = tuple(f"data/extracted/{number:05d}" for number in range(folders))
    return TableInput(table=extracted(columns), folders=names, columns=columns, rows=3)


def decided(columns: Any, table: Table | None = None) -> tuple[Decision, NestedLayout]:
    stored = Schema("shop").stored
    known = stored.with_tables([table]) if table else stored
    decision = decide(known, "t", typed_files(columns, rows=3).evidence)
    files = typed_files(
        columns, rows=3, kept_as_json=lambda path, form: is_kept_as_json(decision, path, form)
    )
    return decision, files.layout


def stays(columns: Any, *, folders: int = 1, table: Table | None = None) -> bool:
    decision, dataset = decided(columns, table)
    return can_pass_through(reading(columns, folders=folders), dataset, decision)


def table_with(**hints: Any) -> Table:
    column = {"name": "id", "data_type": "bigint", "nullable": False, "primary_key": True}
    return Table.from_dict({"name": "t", "columns": {"id": column}, **hints})


def test_rows_without_lists_stay_in_the_files_of_their_frame() -> None:
    assert stays(FLAT)
    assert stays(FLAT, folders=8)


@pytest.mark.parametrize("columns", [NESTED, struct_type([])])
def test_rows_with_lists_are_written_and_so_are_those_without_columns(columns: Any) -> None:
    assert not stays(columns)


def test_rows_of_very_many_frames_are_written_together() -> None:
    assert not stays(FLAT, folders=9)


def test_rows_with_ids_of_their_content_are_written() -> None:
    upsert = table_with(write_disposition="merge", **{"x-merge-strategy": "upsert"})

    assert stays(FLAT, table=table_with(write_disposition="append"))
    assert not stays(FLAT, table=upsert)


def test_rows_of_which_a_contract_refuses_something_are_written() -> None:
    frozen = table_with(write_disposition="append", schema_contract={"columns": "discard_value"})
    decision, _ = decided(FLAT, frozen)

    assert decision.refusals
    assert not stays(FLAT, table=frozen)


def test_a_job_reads_the_columns_under_the_names_that_they_have_in_the_files() -> None:
    _, dataset = decided(FLAT)

    assert file_columns(FLAT) == (
        "`id` INT, `c_7015111a6b486cc4` DECIMAL(10,2), `at` STRUCT<`lat`: DOUBLE>, `seen` MAP<STRING, BIGINT>"
    )
    assert frame_file_columns(FLAT, dataset) == (
        FrameFileColumn(column="id", field="id", sql_type="BIGINT"),
        FrameFileColumn(column="c_7015111a6b486cc4", field="k1", sql_type="DECIMAL(10,2)"),
        FrameFileColumn(column="at", field="at", sql_type="STRUCT<`Lat`: DOUBLE>"),
        FrameFileColumn(column="seen", field="seen", sql_type="MAP<STRING, BIGINT>"),
    )


def test_moments_are_read_as_what_they_are_whatever_a_session_takes_a_timestamp_for() -> None:
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


def test_each_folder_is_a_part_of_the_job_and_nothing_counts_as_written() -> None:
    decision, dataset = decided(FLAT)
    plans = plan_tables(decision, dataset)
    report = root_report("t", plans, Schema("shop").stored, rows_in=6, rows_out=6)
    folders = ("data/extracted/00000", "data/extracted/00001")
    part = NormalizedPart(
        folders=folders, plans=plans, layout=dataset, report=report, passthrough_columns=FLAT
    )
    described = {name: DataFolder(path=name, files=2, bytes=30) for name in folders}

    assert [one.data for one in part.job_parts(plans[0], described)] == list(described.values())
    assert all(one.landed for one in part.job_parts(plans[0], described))
    assert written_bytes({"t": [part]}, described) == {"shape": 0, "put aside": 0}


class Jobs:
    """A package, as far as jobs are added to it."""

    load_id, path = "1", "packages/1"

    def __init__(self) -> None:
        self.added: list[Any] = []

    def add_job(self, job: Any) -> None:
        self.added.append(job)


def test_frames_are_read_in_the_order_in_which_they_came_though_their_types_differ() -> None:
    decision, dataset = decided(FLAT)
    plans = plan_tables(decision, dataset)
    report = root_report("t", plans, Schema("shop").stored, rows_in=6, rows_out=6)
    names = [f"data/extracted/{number:05d}" for number in range(3)]
    parts = [
        NormalizedPart(folders=folders, plans=plans, layout=dataset, report=report, passthrough_columns=FLAT)
        for folders in ((names[0], names[2]), (names[1],))
    ]
    package: Any = Jobs()

    add_jobs(package, parts, {name: DataFolder(path=name, files=1, bytes=1) for name in names}, "a")

    assert [one.data.path for one in package.added[0].parts] == names
