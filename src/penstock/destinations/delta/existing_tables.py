"""Delta tables by path that other programs wrote: their columns and last rows, read by `deltalake`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.destinations.delta.log_commits import LOG_FOLDER
from penstock.destinations.delta.native_tables import open_delta_table
from penstock.destinations.delta.small_reads import unreadable_feature
from penstock.destinations.lake.existing_columns import (
    boundary_schema,
    check_cursor_values,
    existing_columns,
)
from penstock.errors import MissingExtra, UsageError
from penstock.interfaces.existing_tables import ExistingTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.config import AwsCredentials
    from penstock.destinations.delta.native_tables import NativeDeltaTable
    from penstock.package.storage import FileStorage

# In statistics, timestamps are cut to milliseconds, and other types may be cut or rounded too.
_EXACT_STATISTICS: Final = frozenset(("byte", "short", "integer", "long", "date"))
_TIMESTAMPS: Final = frozenset(("timestamp", "timestamp_ntz"))
_MILLISECOND: Final = pa.scalar(1000, pa.duration("us"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingDeltaTables:
    """The Delta tables in the folder of a dataset."""

    store: FileStorage
    credentials: AwsCredentials | None

    def describe(self, name: str) -> ExistingTable:
        """Return the current version of a table; raise `UsageError` for one that loads cannot continue."""
        table = self._open(name)
        feature = unreadable_feature(table)
        if feature is not None:
            raise UsageError(
                f"table {name} has the feature {feature}, with which it can be read only by Spark",
                hint="remove the feature, as by ALTER TABLE … DROP FEATURE, or copy the table to a new one",
                table=name,
            )
        partitions = table.metadata().partition_columns
        counts: list[int | None] = [action.get("num_records") for action in _actions(table)]
        return ExistingTable(
            name=name,
            version=table.version(),
            columns=existing_columns(name, _fields(table), partitions),
            rows=None if None in counts else sum(count or 0 for count in counts),
        )

    def rows_at_maximum(self, existing: ExistingTable, column: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows with the greatest value of `column`.

        Only files that may have such rows are read, by the statistics in the log.
        """
        table = self._open(existing.name, existing.version)
        schema = boundary_schema(existing.name, _fields(table), columns)
        greatest: pa.Scalar | None = None
        parts: list[pa.Table] = []
        for file in _files_by_greatest_value(table, column):
            if greatest is not None and file.is_below(greatest):
                break
            for rows in self._row_groups(existing.name, file, schema):
                values = rows[column]
                has_nan = pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())
                check_cursor_values(existing.name, column, null_count=values.null_count, has_nan=has_nan)
                group_greatest = pc.max(values)
                if greatest is None or pc.greater(group_greatest, greatest).as_py():
                    greatest, parts = group_greatest, []
                parts.append(rows.filter(pc.equal(values, greatest)))
        return pa.concat_tables([schema.empty_table(), *parts])

    def _row_groups(self, table: str, file: _DataFile, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the rows of a file; columns that it lacks have the value of its partition, or are null."""
        with self.store.open(f"{table}/{unquote(file.path)}") as stream:
            content = pq.ParquetFile(stream, coerce_int96_timestamp_unit="us")
            stored = [name for name in schema.names if name in content.schema_arrow.names]
            for number in range(content.num_row_groups):
                # Not by threads: they may abort a process that ends meanwhile.
                rows = content.read_row_group(number, columns=stored, use_threads=False)
                count = content.metadata.row_group(number).num_rows
                if not count:
                    continue
                arrays = [
                    rows[field.name].cast(field.type)
                    if field.name in stored
                    else pa.repeat(pa.scalar(file.partition.get(field.name), field.type), count)
                    for field in schema
                ]
                yield pa.table(arrays, schema=schema)

    def _open(self, name: str, version: int | None = None) -> NativeDeltaTable:
        if not self.store.names(f"{name}/{LOG_FOLDER}"):
            raise UsageError(
                f"there is no Delta table in {self.store.path(name)}",
                hint="name a folder of the dataset that has a _delta_log, or move the table there",
                table=name,
            )
        try:
            return open_delta_table(
                name, self.store, self.credentials, needed_for="reading the log of a table", version=version
            )
        except (MissingExtra, UsageError):
            raise
        except Exception as error:  # errors of deltalake and of Rust have no common class
            raise UsageError(
                f"deltalake cannot open table {name}: {error}",
                hint="it may have a feature that deltalake does not know: remove it, or copy the table",
                table=name,
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataFile:
    """A file of a table."""

    path: str
    upper_bound: pa.Scalar | None
    """No value of the column is greater; None if unknown, or if the column may have nulls in the file."""
    partition: Mapping[str, Any]

    def is_below(self, value: pa.Scalar) -> bool:
        """Return whether all values of the column are known to be less than a value."""
        return self.upper_bound is not None and bool(pc.less(self.upper_bound, value).as_py())


def _fields(table: NativeDeltaTable) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
    return fields


def _actions(table: NativeDeltaTable) -> list[dict[str, Any]]:
    """Return the files of a table with their statistics."""
    actions: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return actions


def _files_by_greatest_value(table: NativeDeltaTable, column: str) -> list[_DataFile]:
    """Return the files of a table: those without a bound first, then those with the greatest bounds."""
    kind = next(field["type"] for field in _fields(table) if field["name"] == column)
    files = [_data_file(action, column, kind) for action in _actions(table)]
    bounded = [file for file in files if file.upper_bound is not None]
    bounded.sort(key=lambda file: file.upper_bound.as_py(), reverse=True)  # type: ignore[union-attr]  # as above
    return [*(file for file in files if file.upper_bound is None), *bounded]


def _data_file(action: Mapping[str, Any], column: str, kind: Any) -> _DataFile:
    bound, prefix = None, "partition."
    greatest, nulls = action.get(f"max.{column}"), action.get(f"null_count.{column}")
    if greatest is not None and nulls == 0:
        if kind in _EXACT_STATISTICS:
            bound = pa.scalar(greatest)
        elif kind in _TIMESTAMPS:
            bound = pc.add(pa.scalar(greatest).cast(pa.timestamp("us", greatest.tzinfo)), _MILLISECOND)
    return _DataFile(
        path=action["path"],
        upper_bound=bound,
        partition={
            key.removeprefix(prefix): value for key, value in action.items() if key.startswith(prefix)
        },
    )
