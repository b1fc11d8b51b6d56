"""SQL over the tables of a dataset, as programs know it from databases: statements in, a cursor out."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from penstock.dataset.dataset import Dataset
from penstock.dataset.query_text import bind_values, is_query, resolve_tables
from penstock.errors import UsageError
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from penstock.dataset.relation import Relation
    from penstock.dataset.view import DatasetSource
    from penstock.interfaces import DestinationCapabilitiesContext

    Row = tuple[Any, ...]
    ColumnDescription = tuple[str, str, None, None, None, None, bool]
    Rows = list[tuple[Any, ...]]


class Cursor:
    """What a query came to. Rows that were fetched do not come again."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._rows: Iterator[Row] | None = None

    @property
    def description(self) -> list[ColumnDescription]:
        """For each column its name, its type in Spark's words, and whether it may be null."""
        fields = self._relation.spark().schema.fields
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in fields
        ]

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        return next(self._remaining(), None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next rows."""
        return list(islice(self._remaining(), size))

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        if self._rows is not None:
            return list(self._rows)
        self._rows = iter(())
        return self._relation.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return self._remaining()

    def iter_fetch(self, chunk_size: int) -> Iterator[list[Row]]:
        """The rows that are left, in chunks."""
        while chunk := self.fetchmany(chunk_size):
            yield chunk

    def df(self, chunk_size: int | None = None) -> pd.DataFrame:
        """The whole result as a pandas frame, or its first rows; what was fetched before is in it too."""
        return self._relation.df(chunk_size)

    def arrow(self, chunk_size: int | None = None) -> pa.Table:
        """The whole result as an Arrow table, or its first rows; what was fetched before is in it too."""
        return self._relation.arrow(chunk_size)

    def spark(self) -> DataFrame:
        """The result as a frame of the user's session."""
        return self._relation.spark()

    def close(self) -> None:
        """Forget the rows that are left."""
        self._rows = iter(())

    def _remaining(self) -> Iterator[Row]:
        if self._rows is None:
            self._rows = iter(self._relation)
        return self._rows


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
