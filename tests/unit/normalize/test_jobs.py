"""Job files: the folders, columns and order that a job reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.interfaces.file_schema import struct_field, struct_type
from penstock.normalize.frames import typed_files
from penstock.normalize.jobs import add_jobs, job_parts, pruned_columns, written_bytes
from penstock.normalize.plan import TablePlan, plan_layout, plan_tables
from penstock.normalize.profile import profile_rows
from penstock.normalize.table_parts import TablePart, WrittenDataset, table_part
from penstock.package import DataFolder
from penstock.package.sql import quote_name
from penstock.schema import Schema, StoredSchema, decide

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout

WIDE = [{"id": 1, "who": {"name": "a", "age": 2}, "x": [{"n": 1, "y": [1], "z": [2]}], "t": ["a"]}]


def plans_of(rows: Any, stored: StoredSchema | None = None) -> tuple[NestedLayout, dict[str, TablePlan]]:
    profile = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", profile.evidence)
    layout = plan_layout(decision, profile)
    return layout, {plan.table.name: plan for plan in plan_tables(decision, layout)}


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("t", "STRUCT<`id`: BIGINT, `who`: STRUCT<`name`: STRING, `age`: BIGINT>>"),
        ("t__x", "STRUCT<`x`: ARRAY<STRUCT<`n`: BIGINT>>>"),
        ("t__x__y", "STRUCT<`x`: ARRAY<STRUCT<`y`: ARRAY<BIGINT>>>>"),
        ("t__t", "STRUCT<`t`: ARRAY<STRING>>"),
    ],
)
def test_a_table_reads_only_the_columns_of_its_projection(table: str, row: str) -> None:
    layout, plans = plans_of(WIDE)

    assert pruned_columns(layout, plans[table].projection).endswith(f"`row` {row}")


def test_a_list_whose_elements_are_not_read_keeps_them() -> None:
    layout, plans = plans_of([{"x": [{"y": [1]}]}])

    assert pruned_columns(layout, plans["t__x"].projection) == layout.columns


@settings(max_examples=30)
@given(st.integers(0, 2_999))
def test_every_path_of_a_projection_is_among_the_columns(number: int) -> None:
    case = rowset(number)
    layout, plans = plans_of(case.batches[0], Schema.from_dict(case.document).stored)

    for plan in plans.values():
        columns = pruned_columns(layout, plan.projection)
        read = [value.at.path for column in plan.projection.columns for value in column.values]
        read += [at.path for level in plan.projection.levels for at, _ in level.lists]
        assert all(f"{quote_name(name)}: " in columns for path in read for name in path)
        assert len(columns) <= len(layout.columns)


FLAT = struct_type([struct_field("id", "integer", name="id"), struct_field("name", "string", name="name")])


def passthrough_part(*folders: str, is_flat: bool = False) -> TablePart:
    files = typed_files(FLAT, rows=6)
    schema = Schema("shop").stored
    decision = decide(schema, "t", files.evidence)
    dataset = WrittenDataset(
        folders=folders, layout=files.layout, rows=6, passthrough_columns=FLAT, is_flat=is_flat
    )
    return table_part(decision, dataset, schema, "t")


def test_each_folder_is_a_part_of_the_job_and_none_counts_as_written() -> None:
    folders = ("data/extracted/00000", "data/extracted/00001")
    part = passthrough_part(*folders)
    described = {name: DataFolder(path=name, files=2, bytes=30) for name in folders}

    parts = list(job_parts(part, part.plans[0], described))

    assert [job_part.data for job_part in parts] == list(described.values())
    assert all(job_part.landed for job_part in parts)
    assert written_bytes({"t": [part]}, described) == {"shape": 0, "quarantine": 0}


@pytest.mark.parametrize(("files", "is_flat"), [(2, True), (200, False)])
def test_flat_files_are_read_as_they_are_unless_they_are_many_small_ones(files: int, is_flat: bool) -> None:
    part = passthrough_part("data/extracted/00000", is_flat=True)
    folder = DataFolder(path="data/extracted/00000", files=files, bytes=30)

    (job_part,) = job_parts(part, part.plans[0], {folder.path: folder})

    assert bool(job_part.landed) != is_flat
    assert bool(job_part.projection.levels) != is_flat
    if is_flat:
        assert job_part.columns == "`id` BIGINT, `name` STRING, `_dlt_load_id` STRING, `_dlt_id` STRING"
    assert written_bytes({"t": [part]}, {folder.path: folder}) == {"shape": 0, "quarantine": 0}


class PackageOfJobs:
    """A package that records the jobs added to it."""

    load_id, path = "1", "packages/1"

    def __init__(self) -> None:
        self.jobs: list[Any] = []

    def add_job(self, job: Any) -> None:
        self.jobs.append(job)


def test_frames_of_several_types_are_read_in_the_order_of_extraction() -> None:
    names = [f"data/extracted/{number:05d}" for number in range(3)]
    parts = [passthrough_part(names[0], names[2]), passthrough_part(names[1], is_flat=True)]
    package: Any = PackageOfJobs()

    add_jobs(package, parts, {name: DataFolder(path=name, files=1, bytes=1) for name in names}, "a")

    assert [part.data.path for part in package.jobs[0].parts] == names


def test_rows_of_a_list_that_not_all_folders_have_are_numbered_as_their_root_rows() -> None:
    frames = [f"data/extracted/{number:05d}" for number in range(2)]
    schema = Schema("shop").stored
    profile = profile_rows([encode({"id": 1, "tags": ["a"]})])
    decision = decide(schema, "t", profile.evidence)
    layout = plan_layout(decision, profile)
    with_list = table_part(
        decision, WrittenDataset(folders=("data/normalized/a",), layout=layout, rows=1), schema, "t"
    )
    described = {name: DataFolder(path=name, files=1, bytes=1) for name in (*frames, "data/normalized/a")}
    package: Any = PackageOfJobs()

    add_jobs(package, [passthrough_part(*frames), with_list], described, "a")

    numbers = {job.name.table_name: [number for number, _ in job.numbered_parts] for job in package.jobs}
    assert numbers == {"t": [0, 1, 2], "t__tags": [2]}
