"""SQL over the tables of a dataset, as programs know it from databases: statements in, a cursor out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from penstock.dataset.cursor import Cursor
from penstock.dataset.dataset import Dataset
from penstock.dataset.dml import resolve_tables
from penstock.dataset.query_text import bind_values, is_query
from penstock.errors import UsageError
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from pyspark.sql import SparkSession

    from penstock.dataset.source import DatasetSource
    from penstock.interfaces import DestinationCapabilitiesContext

    Rows = list[tuple[Any, ...]]


_LATE_BINDING_CONF: Final = "spark.sql.legacy.parameterSubstitution.constantsOnly"


class SqlClient:
    """Spark SQL with the tables of one dataset by their bare names.

    Every query sees the loads that are complete when it is asked, with what statements have changed.
    """

    def __init__(self, source: DatasetSource, *, dataset_name: str) -> None:
        self._source, self.dataset_name = source, dataset_name
        _ = source.tables  # a destination that cannot be read is refused here, not at the first query

    @property
    def capabilities(self) -> DestinationCapabilitiesContext:
        """What the destination can do."""
        return self._source.client.capabilities

    @property
    def native_connection(self) -> SparkSession:
        """The session in which queries run."""
        return self._source.user.spark

    @contextmanager
    def execute_query(self, query: str, *args: Any, **named: Any) -> Iterator[Cursor]:
        """Rows by a cursor. Values for `%s` come by place, those for `%(name)s` by name."""
        cursor = Cursor(self._open_dataset().query(query, *args, **named))
        try:
            yield cursor
        finally:
            cursor.close()

    def execute_sql(self, sql: str, *args: Any, **named: Any) -> Rows | None:
        """Run a query and give its rows, or a statement that changes a table, and give None."""
        if is_query(sql):
            return self._open_dataset().query(sql, *args, **named).fetchall()
        self._run_dml(sql, args, named)
        return None

    def execute_many(self, statements: Sequence[str], *args: Any, **named: Any) -> list[Rows]:
        """Run one statement after another with the same values; gives the rows of those that have some."""
        found = (self.execute_sql(statement, *args, **named) for statement in statements)
        return [rows for rows in found if rows is not None]

    def execute_fragments(self, fragments: Sequence[str], *args: Any, **named: Any) -> Rows | None:
        """Run one statement that comes in pieces."""
        return self.execute_sql("".join(fragments), *args, **named)

    def has_dataset(self) -> bool:
        """Whether anything was ever loaded."""
        return self._source.client.is_storage_initialized()

    def make_qualified_table_name(self, table_name: str) -> str:
        """The table with its dataset, quoted; for the texts of this client."""
        return quote_name(self.dataset_name, table_name)

    def fully_qualified_dataset_name(self) -> str:
        """The dataset, quoted; for the texts of this client."""
        return quote_name(self.dataset_name)

    def escape_column_name(self, column_name: str) -> str:
        """A column, quoted."""
        return quote_name(column_name)

    def close(self) -> None:
        """Let go of sessions that were made to look at the tables."""
        self._source.pool.close()

    def __enter__(self) -> SqlClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _open_dataset(self) -> Dataset:
        return Dataset(self._source, name=self.dataset_name)

    def _run_dml(self, sql: str, args: Sequence[Any], named: dict[str, Any]) -> None:
        asked = bind_values(sql, args, named)
        tables = self._source.tables
        names = {name: tables.sql_name(name) for name in tables.table_names()}
        known = {name: place for name, place in names.items() if place is not None}
        if not known:
            raise UsageError(
                "there is no table here that a statement can change",
                hint="load something first, or change tables with the tools of the destination",
            )
        text = resolve_tables(asked.text, dataset=self.dataset_name, tables=known)
        with self._source.pool.session() as spark:
            # Otherwise the parser of an extension may not see the values; the session is our own.
            spark.conf.set(_LATE_BINDING_CONF, "true")
            spark.sql(text, args=asked.values or None)

    def __repr__(self) -> str:
        return f"<penstock.SqlClient of dataset {self.dataset_name!r} at {self._source.location}>"
