"""Staged rows and marks as frames: which rows of a load go into a table, and which of the table give way.

Staged frames have a column `AT`, the place of the root row in the package. It orders rows, and it is what
nested rows have in common with their root even where two root rows have one id.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from penstock.destinations.lake.statement import MARK, OP, ROW, is_active, moment
from penstock.package.sql import quoted
from penstock.schema import spark_type
from penstock.schema.sparktypes import nested_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.destinations.lake.hints import History, MergeHints
    from penstock.destinations.lake.plan import Choice
    from penstock.schema import Table

AT: Final = "_penstock_at"
ID: Final = "_penstock_id"
TABLE: Final = "_penstock_table"
_LOSES: Final = "_penstock_loses"
_DELETED: Final = "_penstock_deleted"


def column(name: str) -> Column:
    """A column by its name, whatever characters are in it."""
    return F.col(quoted(name))


def judged(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """The rows with two columns more: whether another one wins over the row, and whether it is to be deleted.

    Of rows with one primary key the first in the order of `dedup_sort` wins, then the last in the package.
    """
    deleted = F.expr(hints.hard_delete.sql()) if hints.hard_delete else F.lit(False)  # noqa: FBT003 - a value
    if not hints.dedups:
        return staged.withColumns({_LOSES: F.lit(False), _DELETED: deleted})  # noqa: FBT003 - a value
    order = [column(AT).desc()]
    if hints.dedup_sort is not None:
        name, direction = hints.dedup_sort
        by = column(name)
        order.insert(0, by.asc_nulls_last() if direction == "asc" else by.desc_nulls_last())
    same = Window.partitionBy(*(column(name) for name in hints.primary_key)).orderBy(*order)
    return staged.withColumns({_LOSES: F.row_number().over(same) > 1, _DELETED: deleted})


def left_out(staged: DataFrame, hints: MergeHints) -> DataFrame:
    """The places of root rows that do not get into the table, and whether another row won over them."""
    needed = dict.fromkeys((*hints.primary_key, *_deciding(hints)))
    rows = staged.select(column(AT), *(column(name) for name in needed))
    found = judged(rows, hints).where(F.col(_LOSES) | F.col(_DELETED))
    return found.select(column(AT), F.col(_LOSES))


def chosen_here(staged: DataFrame, hints: MergeHints, choice: Choice) -> DataFrame:
    """The root rows of a choice, found out on the spot."""
    if choice == "all" or not hints.leaves_out:
        return staged
    rows = judged(staged, hints).where(~F.col(_LOSES))
    kept = rows.where(~F.col(_DELETED)) if choice == "kept" else rows
    return kept.drop(_LOSES, _DELETED)


def without(staged: DataFrame, places: DataFrame, choice: Choice) -> DataFrame:
    """The rows, of the root or nested, without those that were left out."""
    dropped = places.where(F.col(_LOSES)) if choice == "winners" else places
    return staged.join(dropped.select(AT), on=AT, how="left_anti")


def only(staged: DataFrame, places: DataFrame) -> DataFrame:
    """The rows, of the root or nested, that stand in the given places."""
    return staged.join(places.select(AT), on=AT, how="left_semi")


def gone(
    target: DataFrame, staged: DataFrame, hints: MergeHints, key_sets: Iterable[Sequence[str]]
) -> DataFrame:
    """The ids of root rows with a key that comes in the load."""
    found = [
        target.join(keys_of(staged, keys), on=list(keys), how="left_semi").select(
            column(hints.row_key).alias(ID)
        )
        for keys in key_sets
    ]
    return reduce(lambda all_, one: all_.union(one), found).distinct()


def unnamed(
    target: DataFrame, marks: DataFrame, *, row_key: str, parent_key: str, root_key: str | None
) -> DataFrame:
    """The ids of nested rows that do not name their root and whose parent is marked."""
    old = target.where(column(root_key).isNull()) if root_key and root_key in target.columns else target
    known = marks.select(F.col(ID).alias(parent_key))
    return old.join(known, on=parent_key, how="left_semi").select(column(row_key).alias(ID))


def keys_of(staged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The keys that come in the load, each once."""
    return staged.select(*(column(name) for name in keys)).distinct()


def active(target: DataFrame, history: History) -> DataFrame:
    """The versions that are valid now; in a table that kept no versions before, all rows are."""
    return target.where(is_active(history)) if history.valid_to in target.columns else target


def retired(target: DataFrame, staged: DataFrame, hints: MergeHints, history: History) -> DataFrame:
    """The versions that end: those that do not come again; with a merge key only where the key comes."""
    valid = active(target, history)
    if hints.merge_key:
        valid = valid.join(keys_of(staged, hints.merge_key), on=list(hints.merge_key), how="left_semi")
    ended = valid.join(staged.select(column(history.version)), on=history.version, how="left_anti")
    return ended.select(column(history.version).alias(ID)).distinct()


def begun(target: DataFrame, staged: DataFrame, history: History) -> DataFrame:
    """The places of root rows whose version is not valid yet."""
    valid = active(target, history).select(column(history.version))
    rows = staged.select(column(AT), column(history.version))
    return rows.join(valid, on=history.version, how="left_anti").select(column(AT))


def columns_of(frame: DataFrame) -> str:
    """The columns of a frame as Spark SQL writes them."""
    fields = frame.schema.jsonValue()["fields"]
    return ", ".join(f"{quoted(one['name'])} {nested_type(one['type'])}" for one in fields)


def completed(staged: DataFrame, table: Table) -> DataFrame:
    """Rows with all columns that the table has a type for: one that no row of the load has is null."""
    has = set(staged.columns)
    lacks = [one for one in table.complete_columns() if one.name not in has]
    nulls = [f"CAST(NULL AS {spark_type(one)}) AS {quoted(one.name)}" for one in lacks]
    return staged.selectExpr("*", *nulls) if nulls else staged


def table_rows(rows: DataFrame, table: Table, values: Mapping[str, str]) -> DataFrame:
    """Rows as they go into the table, its columns first and in order; `values` is SQL for some of them."""
    order = [*(one.name for one in table.complete_columns()), *rows.columns]
    names = [name for name in dict.fromkeys(order) if name != AT]
    return rows.selectExpr(*(f"{values.get(name, quoted(name))} AS {quoted(name)}" for name in names))


def history_values(history: History | None, boundary: str) -> dict[str, str]:
    """What stands in the columns of a version that begins at the boundary."""
    if history is None:
        return {}
    return {history.valid_from: moment(boundary), history.valid_to: moment(history.active_until)}


def source(rows: DataFrame | None, marks: DataFrame | None, ends: Mapping[str, str]) -> DataFrame:
    """What a MERGE reads: rows, marks, or both in one frame; `ends` is what marks say beside their key."""
    found = []
    if rows is not None:
        found.append(rows.withColumn(OP, F.lit(ROW)))
    if marks is not None:
        said = {name: F.expr(text) for name, text in ends.items()}
        found.append(marks.withColumns({**said, OP: F.lit(MARK)}))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), found)


def _deciding(hints: MergeHints) -> list[str]:
    """The columns beside the key that say which row wins and which is deleted."""
    names = [hints.dedup_sort[0]] if hints.dedup_sort else []
    return [*names, hints.hard_delete.column] if hints.hard_delete else names
