"""Relations: the rows of a table or a query, as frames, tables, tuples, chunks or SQL."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pyspark.sql import functions as F
from sqlglot import exp

from penstock.dataset.conditions import Comparison, frame_condition, path_conditions, query_condition
from penstock.dataset.join_path import join_path
from penstock.dataset.query_text import DIALECT
from penstock.dataset.run import (
    all_rows,
    arrow_column_types,
    arrow_rows,
    arrow_table,
    count_rows,
    first_rows,
    is_missing_version,
    iter_rows,
)
from penstock.errors import MissingExtra, TableVersionGone, UsageError
from penstock.package.sql import quote_name
from penstock.pages.elements import element
from penstock.pages.page import notebook_fragment
from penstock.schema import root_table
from penstock.schema.defaults import LOAD_ID_COLUMN
from penstock.schema.html_diagram import table_box
from penstock.schema.spark_types import column_from_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from penstock.dataset.view import DatasetView
    from penstock.schema import Schema, TColumnSchema, TTableSchema

    Row = tuple[Any, ...]

Order = Literal["asc", "desc"]
JoinKind = Literal["inner", "left", "right", "full"]


class Relation:
    """A table of a dataset, or a query over its tables. It is read when one of its methods is called.

    Everything is read in the user's session; a small table is read without one while no Spark runs.
    Timestamps are in UTC.

    >>> items = pipeline.dataset()["items"]  # doctest: +SKIP
    >>> items.where("id", "gt", 1).select("name").df()  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str,
        view: DatasetView,
        tables: tuple[str, ...],
        build_frame: Callable[[], DataFrame],
        build_query: Callable[[], exp.Query],
        read_small: Callable[[], pa.Table | None] = lambda: None,
        *,
        needs_columns: bool = False,
    ) -> None:
        """`read_small` returns all rows if they can be read without Spark.

        With `needs_columns` the query has columns that only Spark knows.
        """
        self.name, self._view, self._tables, self._build_frame = name, view, tables, build_frame
        self._build_query, self._read_small = build_query, read_small
        self._needs_columns = needs_columns

    def spark(self) -> DataFrame:
        """Return a Spark frame in the user's session."""
        with self._translate_errors():
            if self._view.database is not None and not self._is_table:
                return self._view.spark.createDataFrame(self.arrow())
            return self._build_frame()

    @property
    def _is_table(self) -> bool:
        return self._tables == (self.name,) and self._build_query().find(exp.Subquery) is None

    def _rows(self, limit: int | None = None) -> pa.Table | None:
        """Return the rows, or the first ones, if they can be read without Spark."""
        rows = self._read_small()
        if rows is not None:
            return rows if limit is None else rows.slice(0, limit)
        database = self._view.database
        return None if database is None else database.rows(self._build_query(), limit)

    def df(self, chunk_size: int | None = None) -> pd.DataFrame:
        """Return a pandas frame with all rows, collected on the driver, or the first `chunk_size`."""
        return _to_pandas(self.arrow(chunk_size))

    def arrow(self, chunk_size: int | None = None) -> pa.Table:
        """Return an Arrow table with all rows, collected on the driver, or the first `chunk_size`."""
        with self._translate_errors():
            rows = self._rows(chunk_size)
            if rows is not None:
                return rows
            frame = self._build_frame()
            return arrow_table(frame if chunk_size is None else frame.limit(chunk_size))

    def fetchall(self) -> list[Row]:
        """Return all rows as tuples."""
        with self._translate_errors():
            rows = self._rows()
            return all_rows(self._build_frame()) if rows is None else arrow_rows(rows)

    def fetchmany(self, chunk_size: int = 1) -> list[Row]:
        """Return the first rows as tuples."""
        with self._translate_errors():
            rows = self._rows(chunk_size)
            if rows is not None:
                return arrow_rows(rows)
            return first_rows(self._build_frame(), chunk_size)

    def fetchone(self) -> Row | None:
        """Return the first row; None if there is none."""
        return next(iter(self.fetchmany(1)), None)

    def fetchscalar(self) -> Any:
        """Return the first value of the first row; None if there is none."""
        return next(iter(self.fetchone() or ()), None)

    def count(self) -> int:
        """Return the number of rows."""
        with self._translate_errors():
            if self._view.database is not None:
                return self._view.database.row_count(self._build_query())
            rows = self._read_small()
            return count_rows(self._build_frame()) if rows is None else rows.num_rows

    def __iter__(self) -> Iterator[Row]:
        with self._translate_errors():
            rows = self._rows()
            yield from iter_rows(self._build_frame()) if rows is None else arrow_rows(rows)

    def iter_fetch(self, chunk_size: int) -> Iterator[list[Row]]:
        """Yield rows in chunks; the driver holds one partition at a time."""
        rows = iter(self)
        while chunk := list(islice(rows, chunk_size)):
            yield chunk

    def iter_arrow(self, chunk_size: int) -> Iterator[pa.Table]:
        """Yield Arrow tables of at most `chunk_size` rows; all rows are collected on the driver first."""
        table = self.arrow()
        for start in range(0, table.num_rows, chunk_size):
            yield table.slice(start, chunk_size)

    def iter_df(self, chunk_size: int) -> Iterator[pd.DataFrame]:
        """Yield pandas frames of at most `chunk_size` rows; all rows are collected on the driver first."""
        yield from map(_to_pandas, self.iter_arrow(chunk_size))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self._view.database is not None:
            return list(self.arrow(0).column_names)
        return list(self.spark().columns)

    @property
    def column_types(self) -> list[tuple[str, str, bool]]:
        """The name of each column, its type in Spark SQL, and whether it accepts nulls."""
        if self._view.database is not None:
            return arrow_column_types(self.arrow(0))
        fields = self.spark().schema.fields
        return [(field.name, field.dataType.simpleString(), field.nullable) for field in fields]

    @property
    def columns_schema(self) -> dict[str, TColumnSchema]:
        """The columns by name, with the data types of the stored schema, else those of Spark."""
        tables = [schema.tables[self.name] for schema in self._schemas() if self.name in schema.tables]
        stored_columns = tables[0].columns if tables else {}
        columns = (
            column_from_spark(name, kind, nullable=nullable, stored=stored_columns.get(name))
            for name, kind, nullable in self.column_types
        )
        return {column.name: column.to_dict() for column in columns}

    @property
    def schema(self) -> TTableSchema:
        """The columns as a table document."""
        return {"columns": self.columns_schema}

    def to_sql(self, pretty: bool = False) -> str:  # noqa: FBT001, FBT002 - dlt's signature
        """Return an equivalent query; `dataset.query` runs it."""
        return self._build_query().sql(dialect=self._view.dialect, pretty=pretty)

    def select(self, *columns: str) -> Relation:
        """Select columns."""
        return self._derive(
            lambda frame: frame.select(*map(_column, columns)),
            lambda query: _select_from(query, *map(_name, columns)),
        )

    def __getitem__(self, columns: str | Collection[str]) -> Relation:
        return self.select(*([columns] if isinstance(columns, str) else columns))

    def limit(self, limit: int) -> Relation:
        """Limit the number of rows."""
        return self._derive(lambda frame: frame.limit(limit), lambda query: _select_from(query).limit(limit))

    def head(self, limit: int = 5) -> Relation:
        """Limit to a few rows."""
        return self.limit(limit)

    def order_by(self, column_name: str, direction: Order = "asc") -> Relation:
        """Order by a column."""
        return self._derive(
            lambda frame: frame.orderBy(
                _column(column_name).desc() if direction == "desc" else _column(column_name).asc()
            ),
            lambda query: _select_from(query).order_by(
                exp.Ordered(this=_name(column_name), desc=direction == "desc")
            ),
        )

    def where(
        self,
        column_or_expr: str | exp.Condition,
        operator: Comparison | None = None,
        value: Any = None,
    ) -> Relation:
        """Filter rows by a comparison of a column with a value, or by an SQL condition."""
        if operator is None:
            return self._derive(
                lambda frame: frame.where(_spark_text(column_or_expr)),
                lambda query: _select_from(query).where(column_or_expr, dialect=self._view.dialect),
            )
        column = str(column_or_expr)
        return self._derive(
            lambda frame: frame.where(frame_condition(_column(column), operator, value)),
            lambda query: _select_from(query).where(query_condition(_name(column), operator, value)),
        )

    filter = where

    def max(self) -> Relation:
        """Select the greatest value of the only column."""
        return self._aggregate(F.max, exp.Max)

    def min(self) -> Relation:
        """Select the least value of the only column."""
        return self._aggregate(F.min, exp.Min)

    def join(
        self,
        other: str | Relation,
        on: str | exp.Condition | None = None,
        *,
        kind: JoinKind = "inner",
        alias: str | None = None,
    ) -> Relation:
        """Join a table of the dataset, or another relation of it.

        Its columns follow, with its name and two underscores before theirs: `items__id`. `alias` replaces
        its name. Without a condition `on`, the join follows the references of the schema, such as those of
        nested tables to their parents; a condition names columns as `items.id`.

        >>> tags = pipeline.dataset()["items__tags"]  # doctest: +SKIP
        >>> tags.join("items").select("value", "items__name").fetchall()  # doctest: +SKIP
        """
        right = self._table(other) if isinstance(other, str) else other
        right_name = alias or right.name
        if right_name == self.name:
            raise UsageError(f"{right_name} is joined with itself", hint="pass alias='...' to join")
        path = [] if on is not None else join_path(self._references(), self.name, right.name)
        relations = [*(self._table(hop.table) for hop in path[:-1]), right]
        names = [*(hop.table for hop in path[:-1]), right_name]
        conditions = path_conditions(path, names) if on is None else [on]
        steps = list(zip(relations, names, conditions, strict=True))

        def joined_frame(frame: DataFrame) -> DataFrame:
            result = frame.alias(self.name)
            for relation, name, condition in steps:
                condition_text = _spark_text(condition)
                result = result.join(relation.spark().alias(name), F.expr(condition_text), kind)
            columns = [F.col(quote_name(self.name, name)) for name in frame.columns]
            right_columns = [
                F.col(quote_name(right_name, name)).alias(f"{right_name}__{name}") for name in right.columns
            ]
            return result.select(*columns, *right_columns)

        def joined_query(query: exp.Query) -> exp.Query:
            columns = [_name(name, self.name) for name in self.columns]
            right_columns = [
                exp.alias_(_name(name, right_name), f"{right_name}__{name}", quoted=True)
                for name in right.columns
            ]
            result = exp.select(*columns, *right_columns).from_(_aliased(query, self.name))
            for relation, name, condition in steps:
                table = _aliased(relation.sqlglot_expression, name)
                result = result.join(table, on=condition, join_type=kind, dialect=self._view.dialect)
            return result

        names_read = [name for relation in relations for name in relation.table_names]
        return self._derive(joined_frame, joined_query, (*self._tables, *names_read), needs_columns=True)

    def with_load_id_col(self) -> Relation:
        """Return the relation with the column `_dlt_load_id`, which nested rows have from their root row."""
        columns = self.columns
        if LOAD_ID_COLUMN in columns:
            return self
        schema = next((schema for schema in self._schemas() if self.name in schema.tables), None)
        if schema is None:
            raise UsageError(
                f"{self.name} is not a table of a schema", hint=f"select {LOAD_ID_COLUMN} in the query"
            )
        root = root_table(self.name, schema.tables).name
        return self.join(root).select_renamed(
            {**dict(zip(columns, columns, strict=True)), f"{root}__{LOAD_ID_COLUMN}": LOAD_ID_COLUMN}
        )

    def select_renamed(self, names: Mapping[str, str]) -> Relation:
        """Select columns under other names."""
        return self._derive(
            lambda frame: frame.select(*(_column(name).alias(alias) for name, alias in names.items())),
            lambda query: _select_from(
                query, *(exp.alias_(_name(name), alias, quoted=True) for name, alias in names.items())
            ),
        )

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the relation reads, and rarely one that it does not."""
        return self._tables

    @property
    def sqlglot_expression(self) -> exp.Query:
        """An equivalent query in Spark's SQL, as sqlglot has it."""
        return self._build_query()

    def from_loads(
        self,
        load_ids: Collection[str],
        add_load_id_column: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Relation:
        """Filter rows by their loads; nested rows belong to the load of their root row."""
        rows = self.with_load_id_col()
        filtered = rows.where(LOAD_ID_COLUMN, "in", list(load_ids))
        return filtered if rows is self or add_load_id_column else filtered.select(*self.columns)

    def incremental(self, incremental: Any, *, advance: bool = True) -> NoReturn:
        """Raise `UsageError`: a cursor belongs to a resource, which stores its state."""
        raise UsageError(
            "a relation has no state for a cursor",
            hint="make the relation the data of a resource with incremental=..., or filter it by where()",
        )

    def to_ibis(self) -> NoReturn:
        """Raise `UsageError`: penstock has no Ibis backend."""
        raise UsageError(
            "a relation is not an Ibis table", hint="pass relation.spark() to Ibis's Spark backend"
        )

    def _table(self, name: str) -> Relation:
        return table_relation(name, self._view)

    def _schemas(self) -> Iterator[Schema]:
        return iter(self._view.schemas().values())

    def _references(self) -> list[dict[str, Any]]:
        return [reference for schema in self._schemas() for reference in schema.references]

    def _aggregate(self, function: Callable[[Column], Column], function_query: type[exp.AggFunc]) -> Relation:
        return self._derive(
            lambda frame: frame.select(function(_column(_only_name(frame.columns)))),
            lambda query: _select_from(query, function_query(this=_name(_only_name(self.columns)))),
            needs_columns=True,
        )

    def _derive(
        self,
        frame_step: Callable[[DataFrame], DataFrame],
        query_step: Callable[[exp.Query], exp.Query],
        tables: tuple[str, ...] | None = None,
        *,
        needs_columns: bool = False,
    ) -> Relation:
        return Relation(
            self.name,
            self._view,
            tables or self._tables,
            lambda: frame_step(self._build_frame()),
            lambda: query_step(self._build_query()),
            needs_columns=needs_columns or self._needs_columns,
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise `TableVersionGone` for missing files of tables that are read at an older version."""
        try:
            yield
        except Exception as error:  # a failed job raises a Java error, over Connect one of Spark
            held_back = self._view.held_back_versions(self._tables)
            if held_back and is_missing_version(error):
                raise TableVersionGone(tables=held_back, dataset=self._view.name) from error
            raise

    def __repr__(self) -> str:
        return f"<penstock.Relation {self.name!r} of dataset {self._view.name!r}>"

    def _repr_html_(self) -> str:
        """Return the query, or the columns of a table, as a notebook shows them; reads no row, and no Spark.

        A query with columns that only Spark knows is left out.
        """
        title = element("p", element("strong", f"Relation {self.name}"), f" of dataset {self._view.name}")
        query = None if self._needs_columns else self._build_query()
        is_table = query is not None and query.find(exp.Subquery) is None
        boxes = [
            table_box(schema.tables[self.name]) for schema in self._schemas() if self.name in schema.tables
        ]
        content = boxes if is_table and boxes else query and element("pre", self.to_sql(pretty=True))
        hint = element("p", "Call df(), arrow() or fetchall() to read rows.", class_="muted")
        return notebook_fragment(title, content, hint)


def table_relation(name: str, view: DatasetView) -> Relation:
    """Return a table of a dataset; raise `TableNotFound` when it is read if it is unknown."""
    owner = exp.to_identifier(view.name, quoted=True) if view.database is None else None
    table = exp.table_(exp.to_identifier(name, quoted=True), owner)
    return Relation(
        name,
        view,
        (name,),
        lambda: view.read(name),
        lambda: exp.select("*").from_(table),
        lambda: view.read_small(name),
    )


def _column(name: str) -> Column:
    return F.col(quote_name(name))


def _name(name: str, table: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def _select_from(query: exp.Query, *columns: Any) -> exp.Select:
    return exp.select(*(columns or (exp.Star(),))).from_(query.subquery())


def _aliased(query: exp.Query, alias: str) -> exp.Subquery:
    return query.subquery(exp.to_identifier(alias, quoted=True))


def _spark_text(condition: str | exp.Condition) -> str:
    return condition if isinstance(condition, str) else condition.sql(dialect=DIALECT)


def _only_name(columns: Sequence[str]) -> str:
    if len(columns) != 1:
        raise UsageError(f"min and max need one column, got {len(columns)}", hint="select one column first")
    return columns[0]


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError as error:
        raise MissingExtra(extra="spark", needed_for="a pandas frame") from error
    return frame
