"""Connections to SQLite. A dataset is a file, which a connection attaches as a schema."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.destinations.sql import (
    DatasetNames,
    LiveColumns,
    Row,
    SqlConnection,
    SqlDatabase,
    SqlDialect,
    drop_table,
)
from penstock.errors import DestinationTerminalException, DestinationTransientException, UsageError
from sqlite_files.types import sqlite_value

SECONDS_FOR_A_LOCK = 60
COLUMNS = """
    SELECT tables.name, columns.name FROM {schema}.sqlite_master AS tables
    JOIN pragma_table_info(tables.name, ?) AS columns WHERE tables.type = 'table'
    ORDER BY tables.name, columns.cid
"""


class SqliteConnection(SqlConnection):
    """A connection that commits each statement outside of `transaction`."""

    def __init__(self, native: sqlite3.Connection, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self._native = native

    @property
    def native(self) -> sqlite3.Connection:
        return self._native

    def query(self, query: exp.Query, values: Sequence[Any] = ()) -> list[Row]:
        return self._run(self.dialect.text(query), [*map(sqlite_value, values)]).fetchall()

    def execute(self, statement: exp.Expression, values: Sequence[Any] = ()) -> int | None:
        cursor = self._run(self.dialect.text(statement), [*map(sqlite_value, values)])
        return None if cursor.rowcount < 0 else cursor.rowcount

    def execute_many(self, statement: exp.Expression, rows: Iterable[Sequence[Any]]) -> None:
        with own_errors():
            values = ([*map(sqlite_value, row)] for row in rows)
            self._native.executemany(self.dialect.text(statement), values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self._native.rollback()
            raise

    def use(self, names: DatasetNames) -> None:
        """SQLite finds tables of attached files by their bare names."""

    def query_rows(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        text = query if isinstance(query, str) else self.dialect.text(query)
        self._run("PRAGMA query_only = ON")
        try:
            cursor = self._run(text, bound(values))
            rows = cursor.fetchall()
        finally:
            self._run("PRAGMA query_only = OFF")
        if cursor.description is None:
            raise UsageError("this is not a query", hint="run statements by execute_sql, one by one")
        names = [name for name, *_ in cursor.description]
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return pa.Table.from_arrays([pa.array(column) for column in columns], names=names)

    def execute_text(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        self._run(statement, bound(values))

    def create_dataset(self, names: DatasetNames) -> None:
        """The first table creates the file."""

    def drop_dataset(self, names: DatasetNames) -> None:
        for table in self.live_columns(names):
            self.execute(drop_table(names.table(table)))

    def live_columns(self, names: DatasetNames, tables: Collection[str] | None = None) -> LiveColumns:
        schema = exp.to_identifier(names.dataset, quoted=True).sql(dialect="sqlite")
        live: LiveColumns = {}
        for table, column in self._run(COLUMNS.format(schema=schema), [names.dataset]):
            if tables is None or table in tables:
                live[table] = (*live.get(table, ()), column)
        return live

    def _run(self, text: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
        with own_errors():
            return self._native.execute(text, values)


class SqliteDatabase(SqlDatabase):
    """The file of one dataset."""

    def __init__(self, folder: str, dataset: str, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self._file, self._dataset = Path(folder).absolute() / f"{dataset}.sqlite", dataset

    @contextmanager
    def connect(self) -> Iterator[SqliteConnection]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        native = sqlite3.connect(
            ":memory:",
            timeout=SECONDS_FOR_A_LOCK,
            isolation_level=None,  # statements are committed, unless `transaction` begins one
            detect_types=sqlite3.PARSE_DECLTYPES,
        )
        schema = exp.to_identifier(self._dataset, quoted=True).sql(dialect="sqlite")
        with closing(native):
            native.execute(f"ATTACH DATABASE ? AS {schema}", [str(self._file)])
            yield SqliteConnection(native, self.dialect)


def bound(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of a user by the names of their placeholders, such as `$name`."""
    return {name: sqlite_value(value) for name, value in (values or {}).items()}


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise errors of SQLite as errors of penstock: transient ones, and others."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"SQLite reports: {error}"
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_FULL")):
            raise DestinationTransientException(message, hint="run again") from error
        raise DestinationTerminalException(message, hint="correct the data or the schema") from error
