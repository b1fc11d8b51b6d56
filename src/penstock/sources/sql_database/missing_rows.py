"""Rows of a loaded table that the database does not have any more, as deletions of the next load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, get_args

from pyspark.sql import functions as F

from penstock.errors import DeletionsRefused, UsageError
from penstock.interfaces.deletions import DELETED_AT_COLUMN, ENDS_VERSION_HINT, DeletedRows, DeleteMode
from penstock.interfaces.file_schema import LOGICAL_TYPE_KEY
from penstock.interfaces.hints import key_columns, make_hints
from penstock.package.sql import quote_name
from penstock.schema import spark_type
from penstock.sources.sql_database.run import row_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.interfaces.deletions import LoadedTable
    from penstock.interfaces.hints import TableHints
    from penstock.schema import Column as TableColumn

_SOURCE_KEY = "_penstock_key_{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMissing:
    """The treatment of loaded rows whose keys the database lacks, and the largest share of them."""

    mode: DeleteMode
    max_deleted: float

    def __post_init__(self) -> None:
        if self.mode not in get_args(DeleteMode):
            raise UsageError(
                f"invalid value {self.mode!r} of delete_missing",
                hint=f"use one of: {', '.join(get_args(DeleteMode))}",
            )
        if not 0 <= self.max_deleted <= 1:
            raise UsageError(
                f"max_deleted is a share from 0 to 1, got {self.max_deleted}",
                hint="use 0.05 for five percent of the rows of a table, or 1 for no limit",
            )

    def write_disposition(self, declared: Any) -> Any:
        """Return the declared disposition, by default a merge that can delete."""
        if declared:
            return declared
        return {"disposition": "merge", "strategy": "scd2"} if self.mode == "scd2" else "merge"

    def with_hints(self, hints: TableHints, user_hints: TableHints) -> TableHints:
        """Return the hints with the column of deletions, and for versions with a merge key."""
        column: dict[str, Any] = {"data_type": "timestamp", "nullable": True}
        match self.mode:
            case "hard" if _user_flag(user_hints) is not None:
                return hints
            case "hard":
                column["hard_delete"] = True
            case "scd2":
                column[ENDS_VERSION_HINT] = True
            case _:
                pass
        key = hints.primary_key or user_hints.primary_key
        is_keyed = self.mode != "scd2" or user_hints.merge_key is not None
        merge_key = None if is_keyed or key is None else list(key_columns(key))
        return hints.merged_with(make_hints(columns={DELETED_AT_COLUMN: column}, merge_key=merge_key))

    def key_of(self, table: str, hints: TableHints, user_hints: TableHints) -> tuple[str, ...]:
        """Return the columns of the key, by their names in the database."""
        key = hints.primary_key or user_hints.primary_key
        if self.mode == "scd2":
            key = user_hints.merge_key or key
        if not key or callable(key):
            raise UsageError(
                f"delete_missing needs the key of {table}, which has none",
                hint="pass primary_key= with the columns that identify a row",
            )
        return key_columns(key)

    def deletions(
        self,
        loaded: LoadedTable,
        source_keys: DataFrame,
        *,
        key: Sequence[str],
        columns: Sequence[str],
        user_hints: TableHints,
        deleted_at: str,
        report: dict[str, Any],
    ) -> DeletedRows:
        """Return the loaded rows without a key of the source as deletions; no job runs before their write.

        `columns` are those of the source, and `deleted_at` is the time of the load. `report` takes the count.
        """
        if self.mode == "soft" and loaded.has_nested_tables:
            raise UsageError(
                f"delete_missing='soft' cannot mark rows of {loaded.table.name}, which has nested tables",
                hint="use delete_missing='hard' or 'scd2', or load lists as json columns",
            )
        live = _live_rows(loaded, key, self.mode)
        missing = _without_keys(live, source_keys, loaded, key)
        flag, value = self._flag(loaded, user_hints, deleted_at)
        names = _loaded_names(loaded, columns if self.mode == "soft" else key)
        copied = dict.fromkeys((*names, *_data_columns(loaded)) if self.mode == "soft" else names)
        rows = missing.select(
            *(_copied(loaded.table.columns[name], names.get(name, name)) for name in copied),
            value.alias(flag),
        )

        def check_count(count: int) -> None:
            report["missing_rows"] = count
            total = row_count(live) if count else 0
            if count > self.max_deleted * total:
                raise DeletionsRefused(
                    table=loaded.table.name, missing=count, rows=total, max_deleted=self.max_deleted
                )

        return DeletedRows(rows, mode=self.mode, check_count=check_count)

    def _flag(self, loaded: LoadedTable, user_hints: TableHints, deleted_at: str) -> tuple[str, Column]:
        """Return the column that marks a deletion, and its value."""
        time = F.lit(deleted_at).cast("timestamp")
        name = _user_flag(user_hints) if self.mode == "hard" else None
        column = loaded.table.columns.get(loaded.naming.normalize_path(name)) if name else None
        if name is None or column is None:
            return DELETED_AT_COLUMN, time
        match column.data_type:
            case "bool":
                return name, F.lit(True)  # noqa: FBT003 - a value
            case "timestamp" | "date":
                return name, time.cast(spark_type(column))
            case _:
                return name, F.lit("1").cast(spark_type(column))


def _user_flag(user_hints: TableHints) -> str | None:
    """Return the column with the user's own `hard_delete` hint."""
    columns = user_hints.columns if isinstance(user_hints.columns, Mapping) else {}
    return next((name for name, column in columns.items() if column.get("hard_delete")), None)


def _loaded_names(loaded: LoadedTable, names: Sequence[str]) -> dict[str, str]:
    """Return columns of the source by their names in the loaded table, without those that it lacks."""
    by_loaded_name = {loaded.naming.normalize_path(name): name for name in names}
    return {name: raw for name, raw in by_loaded_name.items() if name in loaded.table.columns}


def _data_columns(loaded: LoadedTable) -> Iterator[str]:
    """Yield the columns of the user's data in the loaded table."""
    for column in loaded.table.complete_columns():
        if not column.name.lower().startswith("_dlt_"):
            yield column.name


def _copied(column: TableColumn, name: str) -> Column:
    metadata = {LOGICAL_TYPE_KEY: column.data_type} if column.data_type in {"json", "time"} else {}
    return F.col(quote_name(column.name)).alias(name, metadata=metadata)


def _live_rows(loaded: LoadedTable, key: Sequence[str], mode: DeleteMode) -> DataFrame:
    """Return the loaded rows that a deletion can concern: with a key, not yet marked, and active versions."""
    names = _loaded_names(loaded, key)
    if missing := [raw for raw in key if raw not in names.values()]:
        raise UsageError(
            f"delete_missing needs the key {missing[0]!r}, which {loaded.table.name} does not have",
            hint="do not rename or drop columns of the key in steps",
        )
    conditions = [F.col(quote_name(name)).isNotNull() for name in names]
    mark = loaded.naming.normalize_path(DELETED_AT_COLUMN)
    if mode == "soft" and mark in loaded.frame.columns:
        conditions.append(F.col(quote_name(mark)).isNull())
    if mode == "scd2":
        conditions += [_is_active(loaded, name) for name in loaded.table.columns_with("x-valid-to")]
    live: DataFrame = loaded.frame.where(reduce(lambda left, right: left & right, conditions))
    return live


def _is_active(loaded: LoadedTable, valid_to: str) -> Column:
    ended = F.col(quote_name(valid_to))
    active = loaded.table.columns[valid_to].hints.get("x-active-record-timestamp")
    return (
        ended.isNull() if active is None else ended.isNull() | (ended == F.lit(str(active)).cast("timestamp"))
    )


def _without_keys(
    live: DataFrame, source_keys: DataFrame, loaded: LoadedTable, key: Sequence[str]
) -> DataFrame:
    """Return the rows whose key the source lacks, compared in the types of the loaded table."""
    names = _loaded_names(loaded, key)
    aliases = {name: _SOURCE_KEY.format(number) for number, name in enumerate(names)}
    present = source_keys.select(
        *(
            F.col(quote_name(raw)).try_cast(live.schema[name].dataType).alias(aliases[name])
            for name, raw in names.items()
        )
    )
    matches = [live[quote_name(name)] == present[alias] for name, alias in aliases.items()]
    return live.join(present, matches, "left_anti")
