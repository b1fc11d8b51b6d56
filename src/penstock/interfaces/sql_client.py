"""The SQL client of a dataset: what every destination's client offers, however it connects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, Self, TypeVar

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    import pyarrow as pa
    from sqlglot import exp

    from penstock.interfaces.capabilities import DestinationCapabilitiesContext

ConnectionT = TypeVar("ConnectionT")


class SqlSession(Protocol):
    """A connection to the database of a client, with the tables of its dataset by their bare names."""

    @property
    def native(self) -> Any:
        """The connection of the driver."""

    def query_rows(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of one query, with timestamps in UTC; raise `UsageError` for other statements.

        `values` are bound to the placeholders in a text.
        """

    def execute_text(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement of a user."""

    def transaction(self) -> AbstractContextManager[None]:
        """Run the statements of a block in one transaction; an error in the block rolls it back."""


class WithSqlSession(ABC):
    """Runs SQL on its tables without Spark."""

    @property
    @abstractmethod
    def sql_dialect(self) -> str:
        """The dialect, by the name that sqlglot has for it."""

    @property
    @abstractmethod
    def sql_dataset_name(self) -> str:
        """The quoted name of the dataset, with its database where statements need it."""

    @abstractmethod
    def sql_session(self) -> AbstractContextManager[SqlSession]:
        """Open a connection for a block."""

    def placeholder(self, name: str) -> str:
        """Return the placeholder of a named value in a text."""
        return f"${name}"


class SqlClientBase(ABC, Generic[ConnectionT]):
    """Runs statements on the tables of one dataset, over a connection of type `ConnectionT`.

    >>> sorted(SqlClientBase.__abstractmethods__)[:3]
    ['capabilities', 'close', 'escape_column_name']
    """

    dataset_name: str

    @property
    @abstractmethod
    def capabilities(self) -> DestinationCapabilitiesContext:
        """The capabilities of the destination."""

    @property
    @abstractmethod
    def native_connection(self) -> ConnectionT:
        """The connection that runs queries."""

    def open_connection(self) -> ConnectionT:
        """Open the connection, and return it."""
        return self.native_connection

    def begin_transaction(self) -> AbstractContextManager[Any]:
        """Run the statements of a block in one transaction; an error in the block rolls it back."""
        return _refuse_transaction()

    @abstractmethod
    def execute_query(self, query: str, *args: Any, **named: Any) -> AbstractContextManager[Any]:
        """Yield a cursor over the rows. Values of `%s` are positional, those of `%(name)s` are named."""

    @abstractmethod
    def execute_sql(self, sql: str, *args: Any, **named: Any) -> list[tuple[Any, ...]] | None:
        """Run a query and return its rows, or a statement that changes a table and return None."""

    def execute_many(
        self, statements: Sequence[str], *args: Any, **named: Any
    ) -> list[list[tuple[Any, ...]]]:
        """Run statements in order with the same values, and return the rows of each query."""
        results = (self.execute_sql(statement, *args, **named) for statement in statements)
        return [rows for rows in results if rows is not None]

    def execute_fragments(
        self, fragments: Sequence[str], *args: Any, **named: Any
    ) -> list[tuple[Any, ...]] | None:
        """Run one statement, joined from fragments."""
        return self.execute_sql("".join(fragments), *args, **named)

    @abstractmethod
    def has_dataset(self) -> bool:
        """Return whether anything was ever loaded."""

    @abstractmethod
    def fully_qualified_dataset_name(self) -> str:
        """Return the quoted name of the dataset, for statements of this client."""

    @abstractmethod
    def escape_column_name(self, column_name: str) -> str:
        """Return the quoted name of a column."""

    def make_qualified_table_name(self, table_name: str) -> str:
        """Return the quoted name of a table with its dataset, for statements of this client."""
        return f"{self.fully_qualified_dataset_name()}.{self.escape_column_name(table_name)}"

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def _refuse_transaction() -> NoReturn:
    raise UsageError(
        "Spark SQL has no transactions: each statement is a commit of its own",
        hint="run the statements one by one, or load to a database, such as duckdb",
    )
