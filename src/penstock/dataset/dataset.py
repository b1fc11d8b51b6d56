"""A dataset: the tables of one pipeline or of several, by name, as complete loads left them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from penstock.dataset.query_text import (
    VALUES_FRAME,
    bind_values,
    escape_braces,
    frame_placeholder,
    is_query,
    mentioned_tables,
    with_table_frames,
    without_dataset_name,
)
from penstock.dataset.relation import Relation
from penstock.dataset.view import DatasetView
from penstock.errors import TableNotFound, UsageError
from penstock.package.file_ledger import LOADS_TABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import TracebackType

    from pyspark.sql import DataFrame

    from penstock.dataset.query_text import BoundStatement
    from penstock.dataset.view import DatasetSource
    from penstock.schema import Schema

_MAX_PARALLEL_COUNTS: Final = 4


class Dataset:
    """Tables by name: `dataset["items"].df()`, `dataset.items.spark()`, `dataset("SELECT …").fetchall()`.

    A dataset shows one moment, that of the first look: all tables of every load that was complete then, and
    nothing of a load that was not. Open another one to see what was loaded since.
    """

    def __init__(self, source: DatasetSource, *, name: str, consistent: bool = True) -> None:
        self._source, self.dataset_name = source, name
        self._view = DatasetView(source, name=name, consistent=consistent)

    @property
    def name(self) -> str:
        """How the dataset is called."""
        return self.dataset_name

    @property
    def tables(self) -> list[str]:
        """The names of all tables: data first, then those with which the loads are kept track of."""
        return [*self._view.data_tables(), *self._view.system_tables()]

    @property
    def schemas(self) -> dict[str, Schema]:
        """The schemas as the last complete loads left them, by name."""
        return self._view.schemas()

    @property
    def schema(self) -> Schema | None:
        """The schema that was loaded first; None before the first load."""
        return next(iter(self.schemas.values()), None)

    def table(self, table_name: str, *, load_ids: Collection[str] | None = None) -> Relation:
        """One table; with `load_ids` only the rows of these loads, where rows name their load."""
        if table_name not in self.tables:
            raise TableNotFound(table=table_name, schema=self.name)
        found = Relation(table_name, self._view, (table_name,), lambda: self._view.read(table_name))
        return found if load_ids is None else found.from_loads(load_ids)

    def __getitem__(self, name: str) -> Relation:
        return self.table(name)

    def __getattr__(self, name: str) -> Relation:
        # Python itself asks for many names with underscores around them; none of them is a table.
        if name.startswith("__") or "_view" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self.table(name)
        except TableNotFound as error:
            raise AttributeError(f"{error.message}, and datasets have no such attribute") from error

    def query(self, query: str, *args: Any, **named: Any) -> Relation:
        """Rows that Spark SQL makes of the tables, by their bare names.

        Values go where `%s` or `%(name)s` stands; the engine puts them there. Names that are no tables of the
        dataset mean what they mean in the session: own tables and views can be joined.
        """
        if not is_query(query):
            raise UsageError(
                "a dataset is only read", hint="change tables with pipeline.sql_client(), or by loading them"
            )
        tables = self.tables
        used = mentioned_tables(query, tables)
        text = escape_braces(without_dataset_name(query, self.name, tables))
        asked = bind_values(text, args, named, placeholder=frame_placeholder)
        return Relation("query", self._view, tuple(used), lambda: self._run_query(asked, used))

    __call__ = query

    def row_counts(
        self,
        *,
        data_tables: bool = True,
        dlt_tables: bool = False,
        table_names: Collection[str] | None = None,
        load_id: str | None = None,
    ) -> dict[str, int]:
        """Rows of every table, by name; with `load_id` rows of that load, in tables whose rows name it."""
        names = list(table_names) if table_names is not None else []
        if table_names is None and data_tables:
            names += self._view.data_tables()
        if table_names is None and dlt_tables:
            names += self._view.system_tables()
        relations = [self.table(name) for name in names]
        if load_id is not None:
            relations = [one.from_loads([load_id]) for one in relations if "_dlt_load_id" in one.columns]
        with ThreadPoolExecutor(_MAX_PARALLEL_COUNTS, thread_name_prefix="penstock-read") as threads:
            counts = [threads.submit(copy_context().run, one.count) for one in relations]
            return {one.name: count.result() for one, count in zip(relations, counts, strict=True)}

    def loads_table(self) -> Relation:
        """The complete loads."""
        return self.table(LOADS_TABLE)

    def load_ids(self, schema_name: str | None = None) -> list[str]:
        """The ids of the complete loads, oldest first: of all, or of one schema."""
        loads = self._view.loads
        return [load.load_id for load in loads if schema_name in {None, load.schema_name}]

    def latest_load_id(self, schema_name: str | None = None) -> str | None:
        """The id of the last complete load; None before the first."""
        return next(reversed(self.load_ids(schema_name)), None)

    def is_same_dataset(self, other: Dataset) -> bool:
        """Whether both read the tables of one place."""
        return self._source.location == other._source.location

    def close(self) -> None:
        """Let go of sessions that were made to look at the tables; a server holds them until then."""
        self._view.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _run_query(self, statement: BoundStatement, tables: Sequence[str]) -> DataFrame:
        text, places = with_table_frames(statement.text, tables)
        frames: dict[str, Any] = {place: self._view.read(table) for place, table in places.items()}
        spark = self._view.spark
        # Not by markers of the engine: parsers of extensions, Delta's among them, may leave them unbound. The
        # row has no source, so what Spark runs has plain values in its place.
        values = [F.lit(value).alias(name) for name, value in statement.values.items()]
        frames[VALUES_FRAME] = spark.sql("SELECT 1").select(*values)
        return spark.sql(text, **frames)

    def __repr__(self) -> str:
        return f"<penstock.Dataset {self.name!r} at {self._source.location}>"
