"""Small Delta tables by path, read by the library `deltalake` while no Spark runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.config import logger
from penstock.destinations.delta.native_tables import open_delta_table
from penstock.destinations.lake.existing_columns import arrow_schema
from penstock.errors import MissingExtra, UsageError
from penstock.interfaces import TableChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.config import AwsCredentials
    from penstock.destinations.delta.native_tables import NativeDeltaTable
    from penstock.package.storage import FileStorage

_MAX_BYTES: Final = 64 * 1024 * 1024
"""The size of the files of a table beyond which Spark reads it."""
_MAX_FILES: Final = 1000
_FEATURE_READER: Final = 3
# Others change which rows of a file count, or under which names its columns are.
_PLAIN_FEATURES: Final = frozenset(("timestampNtz",))
_log = logger("penstock.delta")
Result = TypeVar("Result")


def read_small_table(
    store: FileStorage, table: str, version: int | None, credentials: AwsCredentials | None
) -> pa.Table | None:
    """Return all rows in the Arrow types in which Spark returns them; None if Spark has to read the table."""
    return _read_unless_refused(table, lambda: _read_rows(store, table, version, credentials))


def read_columns(store: FileStorage, table: str, credentials: AwsCredentials | None) -> dict[str, Any] | None:
    """Return the columns of a table as Spark writes them in JSON; None if Spark has to read them."""
    return _read_unless_refused(table, lambda: _read_schema(store, table, credentials))


def count_deletion(store: FileStorage, table: str) -> TableChanges | None:
    """Return what the deletion of all rows would change, by the log; None if Spark has to count them."""
    return _read_unless_refused(table, lambda: _count_deletion(store, table))


def _count_deletion(store: FileStorage, table: str) -> TableChanges | None:
    opened = open_delta_table(table, store, store.credentials, needed_for="counts of tables")
    files = pa.table(opened.get_add_actions(flatten=True))
    counts, sizes = files.column("num_records"), files.column("size_bytes").to_pylist()
    if unreadable_feature(opened) is not None or counts.null_count:
        return None
    return TableChanges(table=table, deleted=sum(counts.to_pylist()), files=len(sizes), file_bytes=sum(sizes))


def _read_unless_refused(table: str, read: Callable[[], Result | None]) -> Result | None:
    """Return the result of a read; None after an error: Spark reads the table, or shows what is wrong."""
    try:
        return read()
    except (MissingExtra, UsageError) as error:
        _log.debug("Spark reads %s: %s", table, error.message)
    except Exception as error:
        # Such as a feature or a storage that the library does not know.
        _log.debug("Spark reads %s: %s", table, type(error).__name__)
    return None


def _read_rows(
    store: FileStorage, table: str, version: int | None, credentials: AwsCredentials | None
) -> pa.Table | None:
    opened = open_delta_table(table, store, credentials, needed_for="small tables", version=version)
    schema = arrow_schema(json.loads(opened.schema().to_json()))
    files = pa.table(opened.get_add_actions(flatten=True)).select(["path", "size_bytes"]).to_pydict()
    if schema is None or not _is_plain(opened) or not _are_small(files["size_bytes"]):
        return None
    parts = [_read_file(store, f"{table}/{unquote(path)}", schema) for path in files["path"]]
    return pa.concat_tables([schema.empty_table(), *parts])


def _read_schema(store: FileStorage, table: str, credentials: AwsCredentials | None) -> dict[str, Any] | None:
    opened = open_delta_table(table, store, credentials, needed_for="the columns of tables")
    columns: dict[str, Any] = json.loads(opened.schema().to_json())
    return columns if _is_plain(opened) else None


def _is_plain(table: NativeDeltaTable) -> bool:
    """Return whether the rows of a table are just those of its files, with their columns and names."""
    return unreadable_feature(table) is None and not table.metadata().partition_columns


def unreadable_feature(table: NativeDeltaTable) -> str | None:
    """Return a feature with which other rows or columns count than those in the files; None without one."""
    protocol = table.protocol()
    if protocol.min_reader_version == 1:
        return None
    features = frozenset(protocol.reader_features or ())
    if protocol.min_reader_version != _FEATURE_READER:
        return f"columnMapping (reader version {protocol.min_reader_version})"
    return min(features - _PLAIN_FEATURES, default=None)


def _are_small(sizes: Sequence[int]) -> bool:
    return len(sizes) <= _MAX_FILES and sum(sizes) <= _MAX_BYTES


def _read_file(store: FileStorage, path: str, schema: pa.Schema) -> pa.Table:
    """Return the rows of a file; columns that it lacks are null."""
    # Not by a dataset of the library: its threads call Python, and may abort a process that ends meanwhile.
    with store.open(path) as stream:
        # Spark's default type of timestamps is read in nanoseconds otherwise, which end in 2262.
        rows = pq.ParquetFile(stream, coerce_int96_timestamp_unit="us").read(use_threads=False)
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
