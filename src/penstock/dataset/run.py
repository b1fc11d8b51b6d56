"""Brings rows to this machine: the only file of the room that starts jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from penstock.dataset.values import row_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

# In the words of Spark, Delta and Iceberg, by whichever way they come: a file, a version, a rule about age.
_MISSING_VERSION_MARKERS: Final = (
    *("FILE_NOT_EXIST", "FILE_NOT_FOUND", "FileNotFoundException"),
    *("VERSION_NOT_FOUND", "VERSIONS_NOT_CONTIGUOUS", "TRUNCATED_TRANSACTION_LOG"),
    *("TIME_TRAVEL_BEYOND", "Cannot find snapshot"),
)


def all_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """All rows."""
    return list(map(row_reader(frame.schema), frame.collect()))


def first_rows(frame: DataFrame, limit: int) -> list[tuple[Any, ...]]:
    """The first rows; no more than these are read where Spark can do with less."""
    return list(map(row_reader(frame.schema), frame.take(limit)))


def iter_rows(frame: DataFrame) -> Iterator[tuple[Any, ...]]:
    """Row by row; one partition of the frame is on this machine at a time."""
    yield from map(row_reader(frame.schema), frame.toLocalIterator())


def arrow_table(frame: DataFrame) -> pa.Table:
    """All rows as Arrow, moments in UTC whatever the session's zone is."""
    table = frame.toArrow()
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz not in {None, "UTC"}:
            moments = table.column(place).cast(pa.timestamp(field.type.unit, "UTC"))
            table = table.set_column(place, field.with_type(moments.type), moments)
    return table


def count_rows(frame: DataFrame) -> int:
    """How many rows there are."""
    return frame.count()


def is_missing_version(error: Exception) -> bool:
    """Whether files or versions were asked for that are not there any more."""
    told = str(error)
    return any(word in told for word in _MISSING_VERSION_MARKERS)
