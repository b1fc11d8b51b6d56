"""Frames of a merge: the rows of a load to write, and the keys of the rows that they supersede.

Staged frames have the column `POSITION`, the position of the root row in the package. It orders rows, and
links nested rows to their root even if two root rows have the same id.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType
from pyspark.sql.window import Window

from penstock.destinations.lake.merge_statement import (
    OP_COLUMN,
    ROW,
    SUPERSEDED,
    active_condition,
    timestamp_literal,
)
from penstock.package.sql import quote_name
from penstock.schema import spark_type
from penstock.schema.spark_types import spark_type_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from penstock.destinations.lake.hints import MergeHints, Scd2Hints
    from penstock.destinations.lake.plan import RowFilter
    from penstock.schema import Table


POSITION: Final = "_penstock_at"
ROW_ID: Final = "_penstock_id"
TABLE_NAME: Final = "_penstock_table"
FILE, FILE_BYTES = "_penstock_file", "_penstock_file_bytes"
"""The columns with the file of a row and its size, in frames that are counted."""
_IS_DUPLICATE: Final = "_penstock_loses"
_IS_DELETED: Final = "_penstock_deleted"


def column(name: str) -> Column:
    """Return a column by its name, with any characters in it."""
    return F.col(quote_name(name))


def with_winner_flags(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """Add two flags: whether the row is a duplicate, and whether it is flagged for deletion.

    Of rows with the same primary key the first in the order of `dedup_sort` wins, then the last in the
    package.
    """
    deleted = F.expr(hints.hard_delete.sql()) if hints.hard_delete else F.lit(False)  # noqa: FBT003 - a value
    if not hints.deduplicates:
        return staged.withColumns({_IS_DUPLICATE: F.lit(False), _IS_DELETED: deleted})  # noqa: FBT003 - a value
    order = [column(POSITION).desc()]
    if hints.dedup_sort is not None:
        name, direction = hints.dedup_sort
        sort = column(name)
        order.insert(0, sort.asc_nulls_last() if direction == "asc" else sort.desc_nulls_last())
    duplicates = Window.partitionBy(*(column(name) for name in hints.primary_key)).orderBy(*order)
    return staged.withColumns({_IS_DUPLICATE: F.row_number().over(duplicates) > 1, _IS_DELETED: deleted})


def skipped_positions(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """Return the positions of root rows that are not written, and whether they are duplicates."""
    names = dict.fromkeys((*hints.primary_key, *_deciding_columns(hints)))
    rows = staged.select(column(POSITION), *(column(name) for name in names))
    skipped = with_winner_flags(rows, hints).where(F.col(_IS_DUPLICATE) | F.col(_IS_DELETED))
    return skipped.select(column(POSITION), F.col(_IS_DUPLICATE))


def filter_rows(staged: DataFrame, hints: MergeHints, row_filter: RowFilter) -> DataFrame:
    """Filter root rows without a stored set."""
    if row_filter == "all" or not hints.skips_rows:
        return staged
    rows = with_winner_flags(staged, hints).where(~F.col(_IS_DUPLICATE))
    filtered = rows.where(~F.col(_IS_DELETED)) if row_filter == "kept" else rows
    return filtered.drop(_IS_DUPLICATE, _IS_DELETED)


def anti_join_rows(staged: DataFrame, positions: DataFrame, row_filter: RowFilter) -> DataFrame:
    """Return the rows, of the root or nested, without the skipped ones."""
    skipped = positions.where(F.col(_IS_DUPLICATE)) if row_filter == "winners" else positions
    return staged.join(skipped.select(POSITION), on=POSITION, how="left_anti")


def semi_join_rows(staged: DataFrame, positions: DataFrame) -> DataFrame:
    """Return the rows, of the root or nested, at these positions."""
    return staged.join(positions.select(POSITION), on=POSITION, how="left_semi")


def superseded_root_ids(
    target: DataFrame, staged: DataFrame, hints: MergeHints, key_sets: Iterable[Sequence[str]]
) -> DataFrame:
    """Return the ids of root rows with a key of the load."""
    frames = [
        target.join(distinct_keys(staged, keys), on=list(keys), how="left_semi").select(
            column(hints.row_key).alias(ROW_ID)
        )
        for keys in key_sets
    ]
    return reduce(lambda merged, frame: merged.union(frame), frames).distinct()


def rows_without_root_key(
    target: DataFrame, superseded_ids: DataFrame, *, row_key: str, parent_key: str, root_key: str | None
) -> DataFrame:
    """Return the ids of nested rows without a root key whose parent is superseded."""
    rows = target.where(column(root_key).isNull()) if root_key and root_key in target.columns else target
    parents = superseded_ids.select(F.col(ROW_ID).alias(parent_key))
    return rows.join(parents, on=parent_key, how="left_semi").select(column(row_key).alias(ROW_ID))


def distinct_keys(staged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the distinct keys of the load."""
    return staged.select(*(column(name) for name in keys)).distinct()


def active_versions(target: DataFrame, scd2: Scd2Hints) -> DataFrame:
    """Return the active versions; in a table without row versions, all rows."""
    return target.where(active_condition(scd2)) if scd2.valid_to in target.columns else target


def ended_versions(target: DataFrame, staged: DataFrame, hints: MergeHints, scd2: Scd2Hints) -> DataFrame:
    """Return the active versions that the load lacks; with a merge key only those with a key of the load."""
    active = active_versions(target, scd2)
    if hints.merge_key:
        keys = distinct_keys(staged, hints.merge_key)
        active = active.join(keys, on=list(hints.merge_key), how="left_semi")
    ended = active.join(staged.select(column(scd2.version)), on=scd2.version, how="left_anti")
    return ended.select(column(scd2.version).alias(ROW_ID)).distinct()


def new_versions(target: DataFrame, staged: DataFrame, scd2: Scd2Hints) -> DataFrame:
    """Return the positions of root rows whose version is not active yet and that begin one."""
    active = active_versions(target, scd2).select(column(scd2.version))
    beginning = staged if scd2.ending is None else staged.where(column(scd2.ending).isNull())
    rows = beginning.select(column(POSITION), column(scd2.version))
    return rows.join(active, on=scd2.version, how="left_anti").select(column(POSITION))


def columns_ddl(frame: DataFrame) -> str:
    """Return the columns of a frame as Spark SQL DDL."""
    fields = frame.schema.jsonValue()["fields"]
    return ", ".join(f"{quote_name(field['name'])} {spark_type_from_json(field['type'])}" for field in fields)


def with_missing_columns(staged: DataFrame, table: Table) -> DataFrame:
    """Add the columns of the table that no row of the load has, as nulls."""
    present = set(staged.columns)
    nulls = [
        f"CAST(NULL AS {spark_type(column)}) AS {quote_name(column.name)}"
        for column in table.complete_columns()
        if column.name not in present
    ]
    return staged.selectExpr("*", *nulls) if nulls else staged


def table_rows(rows: DataFrame, table: Table, values: Mapping[str, str]) -> DataFrame:
    """Return rows with the columns of the table first and in order; `values` is SQL for some of them."""
    order = [*(column.name for column in table.complete_columns()), *rows.columns]
    names = [name for name in dict.fromkeys(order) if name != POSITION]
    return rows.selectExpr(*(f"{values.get(name, quote_name(name))} AS {quote_name(name)}" for name in names))


def scd2_values(scd2: Scd2Hints | None, boundary: str) -> dict[str, str]:
    """Return SQL for the validity columns of versions that begin at the boundary."""
    if scd2 is None:
        return {}
    return {
        scd2.valid_from: timestamp_literal(boundary),
        scd2.valid_to: timestamp_literal(scd2.active_record_timestamp),
    }


def merge_source(
    rows: DataFrame | None, superseded: DataFrame | None, end_values: Mapping[str, str]
) -> DataFrame:
    """Return the source of a MERGE: rows, superseded keys with their end values, or both."""
    frames = []
    if rows is not None:
        frames.append(rows.withColumn(OP_COLUMN, F.lit(ROW)))
    if superseded is not None:
        ends = {name: F.expr(text) for name, text in end_values.items()}
        frames.append(superseded.withColumns({**ends, OP_COLUMN: F.lit(SUPERSEDED)}))
    return reduce(lambda merged, frame: merged.unionByName(frame, allowMissingColumns=True), frames)


def _deciding_columns(hints: MergeHints) -> list[str]:
    """Return the columns that decide which duplicate wins and which row is deleted."""
    names = [hints.dedup_sort[0]] if hints.dedup_sort else []
    return [*names, hints.hard_delete.column] if hints.hard_delete else names


def align_structs(rows: DataFrame, table_schema: StructType) -> DataFrame:
    """Give structs in rows the fields of the table, in its order; missing ones are null.

    Columns that only one of them has are not changed.
    """
    table_types = {field.name: field.dataType for field in table_schema}
    differing = {
        field.name
        for field in rows.schema
        if field.name in table_types and _has_other_fields(field.dataType, table_types[field.name])
    }
    if not differing:
        return rows
    return rows.select(
        *(
            _align(column(field.name), field.dataType, table_types[field.name]).alias(field.name)
            if field.name in differing
            else column(field.name)
            for field in rows.schema
        )
    )


def _has_other_fields(row_type: DataType, table_type: DataType) -> bool:
    """Return whether structs in two types differ in their fields."""
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        pairs = zip(row_type, table_type, strict=False)
        return row_type.names != table_type.names or any(
            _has_other_fields(row_field.dataType, table_field.dataType) for row_field, table_field in pairs
        )
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        return _has_other_fields(row_type.elementType, table_type.elementType)
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        return _has_other_fields(row_type.valueType, table_type.valueType)
    return False


def _align(value: Column, row_type: DataType, table_type: DataType) -> Column:
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        row_element, table_element = row_type.elementType, table_type.elementType
        return F.transform(value, lambda element: _align(element, row_element, table_element))
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        row_value, table_value = row_type.valueType, table_type.valueType
        return F.transform_values(value, lambda _, item: _align(item, row_value, table_value))
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        row_types = {field.name: field.dataType for field in row_type}
        fields = (
            (
                _align(value.getField(field.name), row_types[field.name], field.dataType)
                if field.name in row_types
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in table_type
        )
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
