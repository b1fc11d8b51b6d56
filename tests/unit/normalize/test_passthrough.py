"""Typed files that jobs read as extract wrote them: when, and under which columns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.file_schema import array_type, map_type, struct_field, struct_type
from penstock.normalize.frames import typed_files, with_decimal_precision
from penstock.normalize.passthrough import (
    are_few_files,
    can_pass_through,
    file_columns,
    flat_columns,
    frame_file_columns,
)
from penstock.normalize.plan import is_kept_as_json, plan_tables
from penstock.normalize.table_inputs import TableInput
from penstock.package import DataFolder
from penstock.package.extract_manifest import ExtractedTable
from penstock.package.job_file import FrameFileColumn
from penstock.schema import Schema, Table, decide, naming_convention, spark_type

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


FLAT_TYPES = ("boolean", "long", "double", "string", "binary", "date", "timestamp", "decimal(10,2)")
STORED_TYPES = ("bool", "bigint", "double", "text", "binary", "date", "timestamp", "decimal")


def columns_of_table(kinds: dict[str, str], stored: dict[str, Any]) -> tuple[str | None, Decision]:
    """Return the decision for files of these types, and the columns if a table takes the files."""
    columns = struct_type(struct_field(name, kind, name=name) for name, kind in kinds.items())
    files = typed_files(columns, rows=3)
    schema = Schema("shop").stored.with_tables([Table.from_dict({"name": "t", "columns": stored})])
    decision = decide(schema, "t", files.evidence)
    decision = with_decimal_precision(decision, files.precisions, naming_convention())
    (plan,) = plan_tables(decision, files.layout)
    return flat_columns(plan.projection, frame_file_columns(columns, files.layout)), decision


NAMES = st.sampled_from(("a", "b", "d", "e__f", "e_", "n1"))


@given(
    st.dictionaries(NAMES, st.sampled_from(FLAT_TYPES), min_size=1),
    st.dictionaries(NAMES, st.sampled_from(STORED_TYPES)),
    st.sampled_from((None, 10, 32)),
)
def test_a_table_takes_files_if_each_column_is_kept_with_its_name_and_type(
    kinds: dict[str, str], stored: dict[str, Any], precision: int | None
) -> None:
    documents = {
        name: {"data_type": kind, **({"precision": precision} if precision else {})}
        for name, kind in stored.items()
    }

    columns, decision = columns_of_table(kinds, documents)

    types = {name: "BIGINT" if kind == "long" else kind.upper() for name, kind in kinds.items()}
    table = decision.schema.tables["t"].columns
    unchanged = {
        name
        for (path, _), rule in decision.rules.items()
        for name in map(str, path)
        if (rule.action, rule.column) == ("keep", name) and spark_type(table[name]) == types[name]
    }
    if columns is None:
        assert unchanged < kinds.keys()
        return
    assert unchanged == kinds.keys()
    types |= dict.fromkeys(("_dlt_load_id", "_dlt_id"), "STRING")
    names = [name for name in table if name in types]
    assert columns == ", ".join(f"`{name}` {types[name]}" for name in names)


def test_ids_that_the_data_has_need_work() -> None:
    own = struct_type(
        [struct_field("_dlt_id", "string", name="_dlt_id"), struct_field("a", "long", name="a")]
    )
    decision, layout = decide_columns(own)
    (plan,) = plan_tables(decision, layout)

    assert flat_columns(plan.projection, frame_file_columns(own, layout)) is None


@pytest.mark.parametrize(
    ("files", "megabytes", "are_few"), [(8, 0, True), (9, 1, False), (9, 8, True), (64, 448, True)]
)
def test_many_small_files_are_better_combined(files: int, megabytes: int, are_few: bool) -> None:
    folders = [
        DataFolder(path="a", files=files - 1, bytes=megabytes << 20),
        DataFolder(path="b", files=1, bytes=1),
    ]

    assert are_few_files(folders) == are_few
