"""Rows of a dataset, in whichever form they are wanted."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, assert_never

from pyspark.sql import functions as F

from penstock.dataset.run import all_rows, arrow_table, count_rows, first_rows, is_missing_version, iter_rows
from penstock.errors import MissingExtra, TableVersionGone, UsageError
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from penstock.dataset.view import DatasetView

    Row = tuple[Any, ...]

Comparison = Literal["eq", "ne", "gt", "lt", "gte", "lte", "in", "not_in"]
Order = Literal["asc", "desc"]


class Relation:
    """A table of a dataset, or what a query makes of some. It is read when one of its methods is called.

    Everything is read in the session of the user. Moments come in UTC.
    """

    def __init__(
        self, name: str, view: DatasetView, tables: tuple[str, ...], build_frame: Callable[[], DataFrame]
    ) -> None:
        self.name, self._view, self._tables, self._build_frame = name, view, tables, build_frame

    def spark(self) -> DataFrame:
        """A Spark frame in the user's session, to go on with."""
        with self._translate_errors():
            return self._build_frame()

    def df(self, chunk_size: int | None = None) -> pd.DataFrame:
        """A pandas frame; all rows come to this machine, or the first `chunk_size` of them."""
        return _to_pandas(self.arrow(chunk_size))

    def arrow(self, chunk_size: int | None = None) -> pa.Table:
        """An Arrow table; all rows come to this machine, or the first `chunk_size` of them."""
        with self._translate_errors():
            frame = self._build_frame()
            return arrow_table(frame if chunk_size is None else frame.limit(chunk_size))

    def fetchall(self) -> list[Row]:
        """All rows as tuples."""
        with self._translate_errors():
            return all_rows(self._build_frame())

    def fetchmany(self, chunk_size: int = 1) -> list[Row]:
        """The first rows as tuples."""
        with self._translate_errors():
            return first_rows(self._build_frame(), chunk_size)

    def fetchone(self) -> Row | None:
        """The first row; None where there is none."""
        return next(iter(self.fetchmany(1)), None)

    def fetchscalar(self) -> Any:
        """The first value of the first row; None where there is none."""
        return next(iter(self.fetchone() or ()), None)

    def count(self) -> int:
        """The number of rows."""
        with self._translate_errors():
            return count_rows(self._build_frame())

    def __iter__(self) -> Iterator[Row]:
        with self._translate_errors():
            yield from iter_rows(self._build_frame())

    def iter_fetch(self, chunk_size: int) -> Iterator[list[Row]]:
        """Rows in chunks; never the whole of them is on this machine."""
        rows = iter(self)
        while chunk := list(islice(rows, chunk_size)):
            yield chunk

    def iter_arrow(self, chunk_size: int) -> Iterator[pa.Table]:
        """Arrow tables of at most so many rows; all of them come to this machine first."""
        table = self.arrow()
        for start in range(0, table.num_rows, chunk_size):
            yield table.slice(start, chunk_size)

    def iter_df(self, chunk_size: int) -> Iterator[pd.DataFrame]:
        """Pandas frames of at most so many rows; all of them come to this machine first."""
        yield from map(_to_pandas, self.iter_arrow(chunk_size))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.spark().columns)

    def select(self, *columns: str) -> Relation:
        """Some of the columns."""
        return self._derive(lambda frame: frame.select(*map(_column, columns)))

    def __getitem__(self, columns: str | Collection[str]) -> Relation:
        return self.select(*([columns] if isinstance(columns, str) else columns))

    def limit(self, limit: int) -> Relation:
        """At most so many rows."""
        return self._derive(lambda frame: frame.limit(limit))

    def head(self, limit: int = 5) -> Relation:
        """A few rows."""
        return self.limit(limit)

    def order_by(self, column_name: str, direction: Order = "asc") -> Relation:
        """Rows in the order of a column."""
        return self._derive(
            lambda frame: frame.orderBy(
                _column(column_name).desc() if direction == "desc" else _column(column_name).asc()
            )
        )

    def where(self, column_or_expr: str, operator: Comparison | None = None, value: Any = None) -> Relation:
        """Rows whose column compares so with a value, or that a condition in SQL holds for."""
        if operator is None:
            return self._derive(lambda frame: frame.where(column_or_expr))
        return self._derive(lambda frame: frame.where(_comparison(_column(column_or_expr), operator, value)))

    filter = where

    def max(self) -> Relation:
        """The greatest value of the only column."""
        return self._derive(lambda frame: frame.select(F.max(_only_column(frame))))

    def min(self) -> Relation:
        """The least value of the only column."""
        return self._derive(lambda frame: frame.select(F.min(_only_column(frame))))

    def from_loads(self, load_ids: Collection[str]) -> Relation:
        """Rows of a root table that came with these loads."""
        return self.where("_dlt_load_id", "in", list(load_ids))

    def _derive(self, step: Callable[[DataFrame], DataFrame]) -> Relation:
        return Relation(self.name, self._view, self._tables, lambda: step(self._build_frame()))

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Say what is gone where Spark only says that a file is."""
        try:
            yield
        except Exception as error:  # a job that fails comes as an error of Java, over Connect as one of Spark
            held_back = self._view.held_back_versions(self._tables)
            if held_back and is_missing_version(error):
                raise TableVersionGone(tables=held_back, dataset=self._view.name) from error
            raise

    def __repr__(self) -> str:
        return f"<penstock.Relation {self.name!r} of dataset {self._view.name!r}>"


def _column(name: str) -> Column:
    return F.col(quote_name(name))


def _only_column(frame: DataFrame) -> Column:
    if len(frame.columns) != 1:
        raise UsageError(
            f"there are {len(frame.columns)} columns to choose from", hint="select one column first"
        )
    return _column(frame.columns[0])


def _comparison(column: Column, operator: Comparison, value: Any) -> Column:
    match operator:
        case "eq":
            return column == F.lit(value)
        case "ne":
            return column != F.lit(value)
        case "gt":
            return column > F.lit(value)
        case "lt":
            return column < F.lit(value)
        case "gte":
            return column >= F.lit(value)
        case "lte":
            return column <= F.lit(value)
        case "in":
            return column.isin(list(value))
        case "not_in":
            return ~column.isin(list(value))
        case _:
            assert_never(operator)


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError as error:
        raise MissingExtra(extra="spark", needed_for="a pandas frame") from error
    return frame
