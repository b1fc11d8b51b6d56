"""The dataset: the tables of one or several pipelines by name, with the data of complete loads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.sql import functions as F
from sqlglot import exp

from penstock.dataset.query_text import (
    VALUES_FRAME,
    bind_values,
    escape_braces,
    frame_placeholder,
    is_query,
    mentioned_tables,
    parsed_query,
    spark_query,
    with_table_frames,
    without_dataset_name,
)
from penstock.dataset.relation import Relation, table_relation
from penstock.dataset.sqlclient import DatasetSqlClient
from penstock.dataset.view import DatasetView
from penstock.errors import TableNotFound, UsageError
from penstock.package.file_ledger import LOADS_TABLE
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from types import TracebackType

    from pyspark.sql import DataFrame

    from penstock.dataset.database import DatabaseReader
    from penstock.dataset.query_text import BoundStatement
    from penstock.dataset.view import DatasetSource
    from penstock.interfaces import JobClientBase
    from penstock.interfaces.sql_client import SqlSession

    DatasetSchema = Schema | str | Iterable[Schema | str] | None

_MAX_PARALLEL_COUNTS: Final = 4


class RowCounts(dict[str, int]):
    """Numbers of rows by table, which also read as a relation with the columns `table_name` and `row_count`.

    >>> counts = pipeline.dataset().row_counts()  # doctest: +SKIP
    >>> counts["items"], counts.df(), counts.fetchall()  # doctest: +SKIP
    """

    def __init__(self, counts: dict[str, int], view: DatasetView) -> None:
        super().__init__(counts)
        self._view = view

    def __getattr__(self, name: str) -> Any:
        # Notebooks show the counts, not the query of the relation.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._relation(), name)

    def _relation(self) -> Relation:
        columns = ("table_name", "row_count")
        return Relation(
            "row_counts",
            self._view,
            (),
            lambda: self._view.spark.createDataFrame([*self.items()], "table_name STRING, row_count BIGINT"),
            lambda: exp.select("*").from_(exp.values([*self.items()], alias="counts", columns=columns)),
        )


class Dataset:
    """Tables by name: `dataset["items"].df()`, `dataset.items.spark()`, `dataset("SELECT …").fetchall()`.

    A dataset is a snapshot, taken at the first read: it has all tables of every load that was complete then,
    and nothing of an incomplete load. Open another one to see later loads. With `schema`, a schema, the name
    of a stored one, or several, it has only the tables of these schemas.

    >>> dataset = pipeline.dataset()  # doctest: +SKIP
    >>> dataset["items"].df(), dataset("SELECT count(*) FROM items").fetchscalar()  # doctest: +SKIP
    """

    def __init__(
        self,
        source: DatasetSource,
        *,
        name: str,
        consistent: bool = True,
        schema: DatasetSchema = None,
        session: SqlSession | None = None,
    ) -> None:
        """`session` is an open connection to the database of the tables, which then runs all queries."""
        self._source, self.dataset_name = source, name
        self._view = DatasetView(source, name=name, consistent=consistent, session=session)
        self._selected = [schema] if isinstance(schema, (str, Schema)) else schema and list(schema)

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.dataset_name

    @property
    def tables(self) -> list[str]:
        """The names of all tables: data tables first, then system tables."""
        return [*self._data_tables(), *self._view.system_tables()]

    def _data_tables(self) -> list[str]:
        tables = self._view.data_tables()
        if self._selected is None:
            return tables
        names = {name for schema in self.schemas for name in schema.tables}
        return [table for table in tables if table in names]

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """The schemas of the last complete loads, or those that the dataset was opened with.

        A name that was never loaded is the name of an empty schema.
        """
        stored = self._view.schemas()
        if self._selected is None:
            return tuple(stored.values())
        return tuple(
            schema if isinstance(schema, Schema) else stored.get(schema) or Schema(schema)
            for schema in self._selected
        )

    @property
    def schema(self) -> Schema | None:
        """The first of `schemas`; None before the first load."""
        return next(iter(self.schemas), None)

    @property
    def sql_client(self) -> DatasetSqlClient:
        """A client for queries and for statements that change tables."""
        return DatasetSqlClient(self._source, dataset_name=self.name, open_dataset=self._reopened)

    def _reopened(self, session: SqlSession | None = None) -> Dataset:
        return Dataset(self._source, name=self.name, session=session)

    @property
    def destination_client(self) -> JobClientBase:
        """The client of the destination."""
        return self._source.client

    @property
    def destination_dialect(self) -> str:
        """The SQL dialect of queries, by the name that sqlglot has for it."""
        return self._view.dialect

    def table(self, table_name: str, *, load_ids: Collection[str] | None = None) -> Relation:
        """Return a table; with `load_ids` only the rows of these loads, for tables with a load id column."""
        if table_name not in self.tables:
            raise TableNotFound(table=table_name, schema=self.name)
        relation = table_relation(table_name, self._view)
        return relation if load_ids is None else relation.from_loads(load_ids)

    def __getitem__(self, name: str) -> Relation:
        return self.table(name)

    def __getattr__(self, name: str) -> Relation:
        # Python looks up many dunder names; none of them is a table.
        if name.startswith("__") or "_view" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self.table(name)
        except TableNotFound as error:
            raise AttributeError(f"{error.message}, and a dataset has no such attribute") from error

    def query(
        self, query: str | exp.Query, *args: Any, query_dialect: str | None = None, **named: Any
    ) -> Relation:
        """Return the rows of a query over the tables, by their bare names: in Spark SQL, or a database's.

        `%s` and `%(name)s` are placeholders for values, which the engine binds. Other names resolve in the
        session, so its tables and views can be joined. A query in another dialect of sqlglot is translated.
        """
        if self._view.database is not None:
            return self._query_database(self._view.database, query, query_dialect, args, named)
        query = spark_query(query, query_dialect)
        _check_read_only(query)
        tables = self.tables
        used = mentioned_tables(query, tables)
        text = escape_braces(without_dataset_name(query, self.name, tables))
        statement = bind_values(text, args, named, placeholder=frame_placeholder)
        return Relation(
            "query",
            self._view,
            tuple(used),
            lambda: self._run_query(statement, used),
            lambda: parsed_query(bind_values(query, args, named)),
        )

    __call__ = query

    def _query_database(
        self,
        database: DatabaseReader,
        query: str | exp.Query,
        dialect: str | None,
        args: Sequence[Any],
        named: dict[str, Any],
    ) -> Relation:
        text = database.text_of(query, dialect)
        _check_read_only(text)
        statement = database.bind(text, args, named)
        return Relation(
            "query",
            self._view,
            tuple(mentioned_tables(text, self.tables)),
            lambda: self._view.spark.createDataFrame(database.rows_of_text(statement)),
            lambda: database.parse(text, args, named),
            lambda: database.rows_of_text(statement),
        )

    def row_counts(
        self,
        *,
        data_tables: bool = True,
        dlt_tables: bool = False,
        table_names: Collection[str] | None = None,
        load_id: str | None = None,
    ) -> RowCounts:
        """Count the rows of each table; with `load_id` those of that load, where rows have a load id."""
        names = list(table_names) if table_names is not None else []
        if table_names is None and data_tables:
            names += self._data_tables()
        if table_names is None and dlt_tables:
            names += self._view.system_tables()
        relations = [self.table(name) for name in names]
        if load_id is not None:
            relations = [
                relation.from_loads([load_id]) for relation in relations if "_dlt_load_id" in relation.columns
            ]
        with ThreadPoolExecutor(_MAX_PARALLEL_COUNTS, thread_name_prefix="penstock-read") as threads:
            counts = [threads.submit(copy_context().run, relation.count) for relation in relations]
            results = {
                relation.name: count.result() for relation, count in zip(relations, counts, strict=True)
            }
        return RowCounts(results, self._view)

    def ibis(self, read_only: bool = False) -> NoReturn:  # noqa: FBT001, FBT002 - dlt's signature
        """Raise `UsageError`: penstock has no Ibis backend."""
        raise UsageError(
            "a dataset is not an Ibis backend",
            hint="connect Ibis to the Spark session with ibis.pyspark.connect, and read relation.spark()",
        )

    def loads_table(self) -> Relation:
        """Return the table of complete loads."""
        return self.table(LOADS_TABLE)

    def load_ids(self, schema_name: str | None = None) -> list[str]:
        """Return the ids of the complete loads, oldest first: of all schemas, or of one."""
        loads = self._view.loads
        return [load.load_id for load in loads if schema_name in {None, load.schema_name}]

    def latest_load_id(self, schema_name: str | None = None) -> str | None:
        """Return the id of the last complete load; None before the first."""
        return next(reversed(self.load_ids(schema_name)), None)

    def is_same_dataset(self, other: Dataset) -> bool:
        """Return whether both read the tables of the same location."""
        return self._source.location == other._source.location

    def close(self) -> None:
        """Close the sessions that were opened to inspect the tables; a server holds them until then."""
        self._view.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _run_query(self, statement: BoundStatement, tables: Sequence[str]) -> DataFrame:
        text, table_frames = with_table_frames(statement.text, tables)
        frames: dict[str, Any] = {name: self._view.read(table) for name, table in table_frames.items()}
        spark = self._view.spark
        # Not by the engine's parameters: parsers of extensions, such as Delta's, may leave them unbound. The
        # optimizer replaces this one-row frame by its values.
        values = [F.lit(value).alias(name) for name, value in statement.values.items()]
        frames[VALUES_FRAME] = spark.sql("SELECT 1").select(*values)
        return spark.sql(text, **frames)

    def __repr__(self) -> str:
        return f"<penstock.Dataset {self.name!r} at {self._source.location}>"


def _check_read_only(text: str) -> None:
    if not is_query(text):
        raise UsageError(
            "a dataset is read-only", hint="change tables with pipeline.sql_client(), or by loading them"
        )
