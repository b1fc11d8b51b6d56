"""COPY of a part of a table into staging; on executors pickled by value, with psycopg and pyarrow.

One transaction copies a part and marks it as copied. So a task that Spark runs twice, or again after its
result was lost, copies its part once.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql

from penstock.destinations.postgres.binary_copy import (
    COPY_HEADER,
    COPY_TRAILER,
    BinaryEncoder,
    ValueNotStorable,
)
from penstock.destinations.postgres.sqlstates import describe, is_transient

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

PARTS_TABLE: Final = "parts"
TRANSIENT_MARK: Final = "penstock-transient: "
"""The beginning of the text of an error after which a task may be run again."""
_SYSTEM_CA_LIBPQ: Final = 160000


def open_connection(parameters: Mapping[str, str], settings: Mapping[str, str]) -> psycopg.Connection[Any]:
    """Open a connection that commits each statement, with settings of its session."""
    # Statements are not prepared, because a pooler may give each transaction another session.
    options: dict[str, Any] = {**with_authorities(parameters), "autocommit": True, "prepare_threshold": None}
    native = psycopg.connect(**options)
    calls = sql.SQL(", ").join([sql.SQL("set_config(%s, %s, false)")] * len(settings))
    try:
        native.execute(
            sql.SQL("SELECT {}").format(calls), [text for pair in settings.items() for text in pair]
        )
    except BaseException:
        native.close()
        raise
    return native


def with_authorities(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return parameters with the certificate authorities of this machine, if they verify the server."""
    if not parameters.get("sslmode", "").startswith("verify") or "sslrootcert" in parameters:
        return dict(parameters)
    system = "system" if psycopg.pq.version() >= _SYSTEM_CA_LIBPQ else None
    authorities = ssl.get_default_verify_paths().cafile or system
    return {**parameters, **({"sslrootcert": authorities} if authorities else {})}


class StagingCopy:
    """Copies rows into one staging table. Its fields are plain, to be pickled."""

    def __init__(self, *, schema: str, table: str, types: Mapping[str, str]) -> None:
        self.schema, self.table, self.types = schema, table, dict(types)

    def copy(
        self, native: psycopg.Connection[Any], batches: Iterable[pa.RecordBatch], columns: Iterable[str]
    ) -> tuple[int, dict[str, int]]:
        """Copy rows with these columns; return their number, and the replaced texts by column."""
        names = list(columns)
        encoder, rows = BinaryEncoder({name: self.types[name] for name in names}), 0
        statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(
            sql.Identifier(self.schema, self.table), sql.SQL(", ").join(map(sql.Identifier, names))
        )
        with native.cursor() as cursor, cursor.copy(statement) as stream:
            stream.write(COPY_HEADER)
            for batch in batches:
                rows += batch.num_rows
                for chunk in encoder.encode(batch):
                    stream.write(memoryview(chunk))
            stream.write(COPY_TRAILER)
        return rows, encoder.replaced

    def copy_part(
        self, native: psycopg.Connection[Any], part: int, batches: Iterable[pa.RecordBatch]
    ) -> tuple[int, dict[str, int]]:
        """Copy a part with all columns, unless it has a mark; return its rows and the replaced texts."""
        parts = sql.Identifier(self.schema, PARTS_TABLE)
        with native.transaction():
            mark = sql.SQL("INSERT INTO {} VALUES (%s, %s, 0) ON CONFLICT DO NOTHING").format(parts)
            # Waits while another task copies the same part.
            if native.execute(mark, (self.table, part)).rowcount:
                rows, replaced = self.copy(native, batches, self.types)
                count = sql.SQL("UPDATE {} SET rows = %s WHERE attempt = %s AND part = %s").format(parts)
                native.execute(count, (rows, self.table, part))
                return rows, replaced
            query = sql.SQL("SELECT rows FROM {} WHERE attempt = %s AND part = %s").format(parts)
            marked = native.execute(query, (self.table, part)).fetchall()
            return marked[0][0], {}


class ExecutorCopy:
    """Copies the partitions of a job, each over a separate connection; its fields are plain."""

    def __init__(
        self, copy: StagingCopy, table: str, parameters: Mapping[str, str], settings: Mapping[str, str]
    ) -> None:
        self.staging, self.table = copy, table
        self.parameters, self.settings = parameters, settings

    def copy_partition(
        self, part: int, batches: Iterable[pa.RecordBatch]
    ) -> tuple[int, dict[str, int], str | None]:
        """Copy a partition; return its rows, the replaced texts, and why Postgres refused a value.

        A transient error is raised, so that Spark runs the task again.
        """
        try:
            with open_connection(self.parameters, self.settings) as native:
                return (*self.staging.copy_part(native, part, batches), None)
        except psycopg.Error as error:
            message = describe(error, table=self.table)
            if is_transient(error):
                raise RuntimeError(f"{TRANSIENT_MARK}{message}") from None
            return 0, {}, message
        except ValueNotStorable as error:
            return 0, {}, f"{self.table}.{error.column}: {error.reason}"
