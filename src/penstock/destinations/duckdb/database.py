"""The database of a file, opened for as long as a connection is used."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.sql.connection import SqlConnection, SqlDatabase
from penstock.destinations.sql.dialect import DatasetNames
from penstock.errors import (
    DatabaseFileLocked,
    DestinationTerminalException,
    DestinationTransientException,
    MissingExtra,
    PenstockError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from sqlglot import exp

    from penstock.destinations.duckdb.settings import DuckDbConfiguration
    from penstock.destinations.sql.connection import Row
    from penstock.destinations.sql.dialect import SqlDialect

_LOCKED: Final = "Could not set lock on file"
# Names of tables that do not exist would be looked up among the variables of Python otherwise.
_SESSION: Final = ("SET TimeZone = 'UTC'", "SET python_enable_replacements = false")


def duckdb_library() -> Any:
    """Return the library; raise `MissingExtra` without it."""
    try:
        return import_module("duckdb")
    except ModuleNotFoundError as error:
        raise MissingExtra(extra="duckdb", needed_for="the duckdb destination") from error


class DuckDbConnection(SqlConnection):
    """A connection of the library."""

    def __init__(self, native: Any, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self._native = native

    @property
    def native(self) -> Any:
        """The connection of the library."""
        return self._native

    def query(self, query: exp.Query, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query."""
        table = self._read(self.dialect.text(query), list(values))
        # Not by the cursor, which needs a further library for timestamps.
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def query_rows(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of one query of a user, which must change nothing."""
        text = query if isinstance(query, str) else self.dialect.text(query)
        with translated_errors():
            statements = self.native.extract_statements(text)
        if len(statements) != 1 or not statements[0].type.name.startswith("SELECT"):
            raise UsageError(
                "this is not one query that changes nothing", hint="run statements one by one, by execute_sql"
            )
        return self._read(text, values or {})

    def execute_text(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement of a user."""
        with translated_errors():
            self.native.execute(statement, values or {})

    def use(self, names: DatasetNames) -> None:
        """Let bare names of tables mean those of a dataset, if it exists."""
        library = duckdb_library()
        try:
            self.native.execute(f"USE {self.dialect.text(names.schema)}")
        except library.CatalogException:
            return  # nothing was loaded yet

    def execute(self, statement: exp.Expression, values: Sequence[Any] = ()) -> int | None:
        """Run a statement; return the number of changed rows."""
        with translated_errors():
            row = self.native.execute(self.dialect.text(statement), list(values)).fetchone()
        return row[0] if row else None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements of a block in one transaction."""
        with translated_errors():
            self.native.execute("BEGIN TRANSACTION")
        try:
            yield
            with translated_errors():
                self.native.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        library = duckdb_library()
        try:
            self.native.execute("ROLLBACK")
        except library.TransactionException:
            return  # a commit that failed has ended the transaction

    def _read(self, text: str, values: Sequence[Any] | Mapping[str, Any]) -> pa.Table:
        with translated_errors():
            relation = self.native.sql(text, params=values) if values else self.native.sql(text)
            table: pa.Table = relation.to_arrow_table()
            return table


class DuckDbDatabase(SqlDatabase):
    """The database of a file, or of a given connection, which is never closed.

    While this process has the file open, no other process can open it.
    """

    def __init__(self, config: DuckDbConfiguration, dialect: SqlDialect) -> None:
        super().__init__(dialect)
        self._path, self._given = config.path, config.connection
        self._catalog: str | None = None
        self._lock = threading.Lock()
        self._keeps_open = False
        self._connection: Any = None

    def keep_open(self) -> None:
        """Leave the file open from its next use until `close`: each time it is opened takes 20 ms."""
        self._keeps_open = True

    def close(self) -> None:
        """Close the file, and from now on open it for each block."""
        with self._lock:
            connection, self._connection, self._keeps_open = self._connection, None, False
        if connection is not None:
            connection.close()

    @contextmanager
    def connect(self) -> Iterator[DuckDbConnection]:
        """Open the file for a block, unless it is kept open."""
        with self._root() as root, root.cursor() as native:
            for statement in _SESSION:
                native.execute(statement)
            if self._catalog is None:
                # All rows: an unfinished result blocks the connection.
                ((self._catalog,),) = native.execute("SELECT current_database()").fetchall()
            yield DuckDbConnection(native, self.dialect)

    def names(self, dataset: str) -> DatasetNames:
        """Return the names of a dataset with its database: both often have the same name."""
        if self._catalog is None:
            with self.connect():
                pass
        return DatasetNames(dataset=dataset, catalog=self._catalog)

    def _root(self) -> AbstractContextManager[Any]:
        """Return the connection whose cursors are connections of their own."""
        if self._given is not None:
            return nullcontext(self._given)
        with self._lock:
            if not self._keeps_open:
                return closing(self._open())
            if self._connection is None:
                self._connection = self._open()
            return nullcontext(self._connection)

    def _open(self) -> AbstractContextManager[Any]:
        with translated_errors(path=self._path):
            connection: AbstractContextManager[Any] = duckdb_library().connect(self._path)
        return connection


@contextmanager
def translated_errors(path: str | None = None) -> Iterator[None]:
    """Raise errors of the library as errors of penstock."""
    library = duckdb_library()
    try:
        yield
    except library.Error as error:
        raise _translate(error, library, path) from error


def _translate(error: Exception, library: Any, path: str | None) -> PenstockError:
    message = str(error).strip()
    if path is not None and _LOCKED in message:
        return DatabaseFileLocked(path=path, holder=message.partition("held in ")[2].partition(". ")[0])
    first_line = message.splitlines()[0] if message else type(error).__name__
    if isinstance(error, library.OperationalError):
        return DestinationTransientException(
            f"DuckDB reports: {first_line}", hint="run again; if it repeats, check the disk and the file"
        )
    return DestinationTerminalException(
        f"DuckDB reports: {first_line}", hint="correct the data or the schema, and run again"
    )
