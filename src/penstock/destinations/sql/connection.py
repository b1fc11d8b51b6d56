"""Connections to a database: the statements of a client, and transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.destinations.sql.ddl import create_schema, drop_schema
from penstock.destinations.sql.dialect import DatasetNames, column

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from penstock.destinations.sql.dialect import SqlDialect

Row = tuple[Any, ...]
LiveColumns = dict[str, tuple[str, ...]]
"""The columns of existing tables, by table."""


class SqlConnection(ABC):
    """A connection to a database, for one thread.

    Errors of the driver are raised as errors of penstock: those that may end by themselves, such as a lost
    connection, as `DestinationTransientException`, others as `DestinationTerminalException`.
    """

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def query(self, query: exp.Query, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query. Each value is bound to an `exp.Placeholder`, in their order."""

    @abstractmethod
    def execute(self, statement: exp.Expression, values: Sequence[Any] = ()) -> int | None:
        """Run a statement; return the number of changed rows, None if the database does not report it."""

    def execute_many(self, statement: exp.Expression, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for the values of each row; drivers often have a faster way."""
        for values in rows:
            self.execute(statement, values)

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Run the statements of a block in one transaction; an error in the block rolls it back."""

    @abstractmethod
    def use(self, names: DatasetNames) -> None:
        """Let bare names of tables mean those of a dataset, if it exists."""

    @abstractmethod
    def query_rows(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of one query of a user, which must change nothing, with timestamps in UTC."""

    @abstractmethod
    def execute_text(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement of a user."""

    @property
    @abstractmethod
    def native(self) -> Any:
        """The connection of the driver."""

    def create_dataset(self, names: DatasetNames) -> None:
        """Create a dataset if it does not exist: a schema, unless the database has none."""
        self.execute(create_schema(names))

    def drop_dataset(self, names: DatasetNames) -> None:
        """Drop a dataset with all its tables, if it exists."""
        self.execute(drop_schema(names))

    def live_columns(self, names: DatasetNames, tables: Collection[str] | None = None) -> LiveColumns:
        """Return the columns of the tables that exist in a dataset, in their order; by default of all."""
        query = (
            exp.select(column("table_name"), column("column_name"))
            .from_(exp.Table(this=exp.to_identifier("columns"), db=exp.to_identifier("information_schema")))
            .where(column("table_schema").eq(exp.Placeholder()))
            .order_by(column("table_name"), column("ordinal_position"))
        )
        values = [names.dataset]
        if names.catalog is not None:
            query = query.where(column("table_catalog").eq(exp.Placeholder()))
            values.append(names.catalog)
        live: dict[str, list[str]] = {}
        for table, name in self.query(query, values):
            live.setdefault(table, []).append(name)
        return {table: tuple(columns) for table, columns in live.items() if tables is None or table in tables}


class SqlDatabase(ABC):
    """A database with the settings of one client. It may be used by several threads."""

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def connect(self) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for a block."""

    def names(self, dataset: str) -> DatasetNames:
        """Return the names of a dataset."""
        return DatasetNames(dataset=dataset)

    def begin_load(self, connection: SqlConnection, names: DatasetNames, pipeline_name: str) -> None:
        """Run what the transaction of a load begins with, such as a lock of the pipeline in its dataset."""
        del connection, names, pipeline_name
