"""The SQL client of a dataset, and its cursor."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from sqlglot import exp

from penstock.dataset.query_text import bind_values, is_query, resolve_tables
from penstock.errors import UsageError
from penstock.interfaces.sql_client import SqlClientBase, WithSqlSession
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.dataset.relation import Relation
    from penstock.dataset.view import DatasetSource
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.interfaces.sql_client import SqlSession

    Row = tuple[Any, ...]
    ColumnDescription = tuple[str, str, None, None, None, None, bool]
    Rows = list[tuple[Any, ...]]


class Queryable(Protocol):
    """A dataset at one snapshot of its loads."""

    def query(self, query: str, *args: Any, **named: Any) -> Relation:
        """Return the rows of a query."""


class Cursor:
    """The result of a query. Each row is fetched once."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._rows: Iterator[Row] | None = None

    @property
    def description(self) -> list[ColumnDescription]:
        """Name, Spark type and nullability of each column."""
        columns = self._relation.column_types
        return [(name, kind, None, None, None, None, nullable) for name, kind, nullable in columns]

    def fetchone(self) -> Row | None:
        """Return the next row; None at the end."""
        return next(self._remaining(), None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """Return the next rows."""
        return list(islice(self._remaining(), size))

    def fetchall(self) -> list[Row]:
        """Return all remaining rows."""
        if self._rows is not None:
            return list(self._rows)
        self._rows = iter(())
        return self._relation.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return self._remaining()

    def iter_fetch(self, chunk_size: int) -> Iterator[list[Row]]:
        """Yield the remaining rows in chunks."""
        while chunk := self.fetchmany(chunk_size):
            yield chunk

    def df(self, chunk_size: int | None = None) -> pd.DataFrame:
        """Return the complete result as a pandas frame, or its first rows, fetched or not."""
        return self._relation.df(chunk_size)

    def arrow(self, chunk_size: int | None = None) -> pa.Table:
        """Return the complete result as an Arrow table, or its first rows, fetched or not."""
        return self._relation.arrow(chunk_size)

    def spark(self) -> DataFrame:
        """Return the result as a frame of the user's session."""
        return self._relation.spark()

    def close(self) -> None:
        """Discard the remaining rows."""
        self._rows = iter(())

    def _remaining(self) -> Iterator[Row]:
        if self._rows is None:
            self._rows = iter(self._relation)
        return self._rows


_LATE_BINDING_CONF: Final = "spark.sql.legacy.parameterSubstitution.constantsOnly"


class DatasetSqlClient(SqlClientBase[Any]):
    """SQL with the tables of one dataset by their bare names, of a database or else of Spark.

    Every query sees the loads that are complete when it runs, and the changes of earlier statements. A client
    of a database keeps its connection until it is closed.
    """

    def __init__(
        self,
        source: DatasetSource,
        *,
        dataset_name: str,
        open_dataset: Callable[[SqlSession | None], Queryable],
    ) -> None:
        self._source, self.dataset_name, self._open_dataset = source, dataset_name, open_dataset
        tables = source.tables  # raises here, and not at the first query, if the destination cannot be read
        self._database = tables if isinstance(tables, WithSqlSession) else None
        self._stack, self._session = ExitStack(), cast("SqlSession | None", None)

    @property
    def capabilities(self) -> DestinationCapabilitiesContext:
        """The capabilities of the destination."""
        return self._source.client.capabilities

    @property
    def native_connection(self) -> Any:
        """The connection or the session that runs queries."""
        session = self._opened_session()
        return self._source.sessions.user.spark if session is None else session.native

    def begin_transaction(self) -> AbstractContextManager[Any]:
        """Run the statements of a block in one transaction of the database."""
        session = self._opened_session()
        return super().begin_transaction() if session is None else session.transaction()

    def _opened_session(self) -> SqlSession | None:
        """Return the connection of the client; None without a database."""
        if self._session is None and self._database is not None:
            self._session = self._stack.enter_context(self._database.sql_session())
        return self._session

    @contextmanager
    def execute_query(self, query: str, *args: Any, **named: Any) -> Iterator[Cursor]:
        """Yield a cursor over the rows. Values of `%s` are positional, those of `%(name)s` are named."""
        cursor = Cursor(self._query(query, args, named))
        try:
            yield cursor
        finally:
            cursor.close()

    def execute_sql(self, sql: str, *args: Any, **named: Any) -> Rows | None:
        """Run a query and return its rows, or a statement that changes a table and return None."""
        if is_query(sql):
            return self._query(sql, args, named).fetchall()
        session = self._opened_session()
        if self._database is None or session is None:
            self._run_dml(sql, args, named)
            return None
        statement = bind_values(sql, args, named, placeholder=self._database.placeholder)
        session.execute_text(statement.text, statement.values)
        return None

    def _query(self, query: str, args: Sequence[Any], named: dict[str, Any]) -> Relation:
        return self._open_dataset(self._opened_session()).query(query, *args, **named)

    def has_dataset(self) -> bool:
        """Return whether anything was ever loaded."""
        return self._source.client.is_storage_initialized()

    def fully_qualified_dataset_name(self) -> str:
        """Return the quoted name of the dataset, for statements of this client."""
        return quote_name(self.dataset_name) if self._database is None else self._database.sql_dataset_name

    def escape_column_name(self, column_name: str) -> str:
        """Return the quoted name of a column."""
        if self._database is None:
            return quote_name(column_name)
        return exp.to_identifier(column_name, quoted=True).sql(dialect=self._database.sql_dialect)

    def close(self) -> None:
        """Close the connection, and the sessions that were opened to inspect or change the tables."""
        self._session = None
        self._stack.close()
        self._source.sessions.close()

    def _run_dml(self, sql: str, args: Sequence[Any], named: dict[str, Any]) -> None:
        statement = bind_values(sql, args, named)
        tables = self._source.tables
        names = {name: tables.sql_name(name) for name in tables.table_names()}
        sql_names = {name: sql_name for name, sql_name in names.items() if sql_name is not None}
        if not sql_names:
            raise UsageError(
                "the dataset has no table that a statement can change",
                hint="load something first, or change tables with the tools of the destination",
            )
        text = resolve_tables(statement.text, dataset=self.dataset_name, tables=sql_names)
        with self._source.sessions.session() as spark:
            # Otherwise the parser of an extension may not bind the values; the session is penstock's own.
            spark.conf.set(_LATE_BINDING_CONF, "true")
            spark.sql(text, args=statement.values or None)

    def __repr__(self) -> str:
        return f"<penstock.SqlClient of dataset {self.dataset_name!r} at {self._source.location}>"
