"""Staged rows and marks as frames: which rows of a load go into a table, and which of the table give way.

Staged frames have a column `AT`, the place of the root row in the package. It orders rows, and it is what
nested rows have in common with their root even where two root rows have one id.
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
_IS_DUPLICATE: Final = "_penstock_loses"
_IS_DELETED: Final = "_penstock_deleted"


def column(name: str) -> Column:
    """A column by its name, whatever characters are in it."""
    return F.col(quote_name(name))


def with_winner_flags(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """The rows with two columns more: whether another one wins over the row, and whether it is to be deleted.

    Of rows with one primary key the first in the order of `dedup_sort` wins, then the last in the package.
    """
    deleted = F.expr(hints.hard_delete.sql()) if hints.hard_delete else F.lit(False)  # noqa: FBT003 - a value
    if not hints.deduplicates:
        return staged.withColumns({_IS_DUPLICATE: F.lit(False), _IS_DELETED: deleted})  # noqa: FBT003 - a value
    order = [column(POSITION).desc()]
    if hints.dedup_sort is not None:
        name, direction = hints.dedup_sort
        by = column(name)
        order.insert(0, by.asc_nulls_last() if direction == "asc" else by.desc_nulls_last())
    same = Window.partitionBy(*(column(name) for name in hints.primary_key)).orderBy(*order)
    return staged.withColumns({_IS_DUPLICATE: F.row_number().over(same) > 1, _IS_DELETED: deleted})


def skipped_positions(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """The places of root rows that do not get into the table, and whether another row won over them."""
    needed = dict.fromkeys((*hints.primary_key, *_deciding_columns(hints)))
    rows = staged.select(column(POSITION), *(column(name) for name in needed))
    found = with_winner_flags(rows, hints).where(F.col(_IS_DUPLICATE) | F.col(_IS_DELETED))
    return found.select(column(POSITION), F.col(_IS_DUPLICATE))


def filter_rows(staged: DataFrame, hints: MergeHints, row_filter: RowFilter) -> DataFrame:
    """The root rows of a choice, found out on the spot."""
    if row_filter == "all" or not hints.skips_rows:
        return staged
    rows = with_winner_flags(staged, hints).where(~F.col(_IS_DUPLICATE))
    kept = rows.where(~F.col(_IS_DELETED)) if row_filter == "kept" else rows
    return kept.drop(_IS_DUPLICATE, _IS_DELETED)


def anti_join_rows(staged: DataFrame, positions: DataFrame, row_filter: RowFilter) -> DataFrame:
    """The rows, of the root or nested, without those that were left out."""
    dropped = positions.where(F.col(_IS_DUPLICATE)) if row_filter == "winners" else positions
    return staged.join(dropped.select(POSITION), on=POSITION, how="left_anti")


def semi_join_rows(staged: DataFrame, positions: DataFrame) -> DataFrame:
    """The rows, of the root or nested, that stand in the given places."""
    return staged.join(positions.select(POSITION), on=POSITION, how="left_semi")


def superseded_root_ids(
    target: DataFrame, staged: DataFrame, hints: MergeHints, key_sets: Iterable[Sequence[str]]
) -> DataFrame:
    """The ids of root rows with a key that comes in the load."""
    found = [
        target.join(distinct_keys(staged, keys), on=list(keys), how="left_semi").select(
            column(hints.row_key).alias(ROW_ID)
        )
        for keys in key_sets
    ]
    return reduce(lambda all_, one: all_.union(one), found).distinct()


def rows_without_root_key(
    target: DataFrame, superseded_ids: DataFrame, *, row_key: str, parent_key: str, root_key: str | None
) -> DataFrame:
    """The ids of nested rows that do not name their root and whose parent is marked."""
    old = target.where(column(root_key).isNull()) if root_key and root_key in target.columns else target
    known = superseded_ids.select(F.col(ROW_ID).alias(parent_key))
    return old.join(known, on=parent_key, how="left_semi").select(column(row_key).alias(ROW_ID))


def distinct_keys(staged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The keys that come in the load, each once."""
    return staged.select(*(column(name) for name in keys)).distinct()


def active_versions(target: DataFrame, scd2: Scd2Hints) -> DataFrame:
    """The versions that are valid now; in a table that kept no versions before, all rows are."""
    return target.where(active_condition(scd2)) if scd2.valid_to in target.columns else target


def ended_versions(target: DataFrame, staged: DataFrame, hints: MergeHints, scd2: Scd2Hints) -> DataFrame:
    """The versions that end: those that do not come again; with a merge key only where the key comes."""
    valid = active_versions(target, scd2)
    if hints.merge_key:
        valid = valid.join(distinct_keys(staged, hints.merge_key), on=list(hints.merge_key), how="left_semi")
    ended = valid.join(staged.select(column(scd2.version)), on=scd2.version, how="left_anti")
    return ended.select(column(scd2.version).alias(ROW_ID)).distinct()


def new_versions(target: DataFrame, staged: DataFrame, scd2: Scd2Hints) -> DataFrame:
    """The places of root rows whose version is not valid yet."""
    valid = active_versions(target, scd2).select(column(scd2.version))
    rows = staged.select(column(POSITION), column(scd2.version))
    return rows.join(valid, on=scd2.version, how="left_anti").select(column(POSITION))


def columns_ddl(frame: DataFrame) -> str:
    """The columns of a frame as Spark SQL writes them."""
    fields = frame.schema.jsonValue()["fields"]
    return ", ".join(f"{quote_name(one['name'])} {spark_type_from_json(one['type'])}" for one in fields)


def with_missing_columns(staged: DataFrame, table: Table) -> DataFrame:
    """Rows with all columns that the table has a type for: one that no row of the load has is null."""
    has = set(staged.columns)
    lacks = [one for one in table.complete_columns() if one.name not in has]
    nulls = [f"CAST(NULL AS {spark_type(one)}) AS {quote_name(one.name)}" for one in lacks]
    return staged.selectExpr("*", *nulls) if nulls else staged


def table_rows(rows: DataFrame, table: Table, values: Mapping[str, str]) -> DataFrame:
    """Rows as they go into the table, its columns first and in order; `values` is SQL for some of them."""
    order = [*(one.name for one in table.complete_columns()), *rows.columns]
    names = [name for name in dict.fromkeys(order) if name != POSITION]
    return rows.selectExpr(*(f"{values.get(name, quote_name(name))} AS {quote_name(name)}" for name in names))


def scd2_values(scd2: Scd2Hints | None, boundary: str) -> dict[str, str]:
    """What stands in the columns of a version that begins at the boundary."""
    if scd2 is None:
        return {}
    return {
        scd2.valid_from: timestamp_literal(boundary),
        scd2.valid_to: timestamp_literal(scd2.active_record_timestamp),
    }


def merge_source(
    rows: DataFrame | None, superseded: DataFrame | None, end_values: Mapping[str, str]
) -> DataFrame:
    """What a MERGE reads: rows, marks, or both in one frame; `ends` is what marks say beside their key."""
    found = []
    if rows is not None:
        found.append(rows.withColumn(OP_COLUMN, F.lit(ROW)))
    if superseded is not None:
        said = {name: F.expr(text) for name, text in end_values.items()}
        found.append(superseded.withColumns({**said, OP_COLUMN: F.lit(SUPERSEDED)}))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), found)


def _deciding_columns(hints: MergeHints) -> list[str]:
    """The columns beside the key that say which row wins and which is deleted."""
    names = [hints.dedup_sort[0]] if hints.dedup_sort else []
    return [*names, hints.hard_delete.column] if hints.hard_delete else names


def align_structs(rows: DataFrame, table_schema: StructType) -> DataFrame:
    """Bring kept columns to the fields that the table has by now; those that a row lacks are null.

    Columns that the table does not have, and whole columns that rows lack, are left as they are.
    """
    wanted = {field.name: field.dataType for field in table_schema}
    differing = {
        field.name: wanted[field.name]
        for field in rows.schema
        if field.name in wanted and _has_other_fields(field.dataType, wanted[field.name])
    }
    if not differing:
        return rows
    return rows.select(
        *(
            _align(F.col(quote_name(field.name)), field.dataType, wanted[field.name]).alias(field.name)
            if field.name in differing
            else F.col(quote_name(field.name))
            for field in rows.schema
        )
    )


def _has_other_fields(row_type: DataType, table_type: DataType) -> bool:
    """Whether structs inside of two types differ in their fields."""
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        pairs = zip(row_type, table_type, strict=False)
        return row_type.names != table_type.names or any(
            _has_other_fields(one.dataType, two.dataType) for one, two in pairs
        )
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        return _has_other_fields(row_type.elementType, table_type.elementType)
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        return _has_other_fields(row_type.valueType, table_type.valueType)
    return False


def _align(value: Column, row_type: DataType, table_type: DataType) -> Column:
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        inner, to = row_type.elementType, table_type.elementType
        return F.transform(value, lambda one: _align(one, inner, to))
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        inner, to = row_type.valueType, table_type.valueType
        return F.transform_values(value, lambda _, one: _align(one, inner, to))
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        known = {field.name: field.dataType for field in row_type}
        fields = (
            (
                _align(value.getField(field.name), known[field.name], field.dataType)
                if field.name in known
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in table_type
        )
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
