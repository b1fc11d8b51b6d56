"""Relations: the rows of a table or a query, as frames, tables, tuples or chunks."""

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
    """A table of a dataset, or a query over its tables. It is read when one of its methods is called.

    Everything is read in the user's session. Timestamps are in UTC.
    """

    def __init__(
        self, name: str, view: DatasetView, tables: tuple[str, ...], build_frame: Callable[[], DataFrame]
    ) -> None:
        self.name, self._view, self._tables, self._build_frame = name, view, tables, build_frame

    def spark(self) -> DataFrame:
        """Return a Spark frame in the user's session."""
        with self._translate_errors():
            return self._build_frame()

    def df(self, chunk_size: int | None = None) -> pd.DataFrame:
        """Return a pandas frame with all rows, collected on the driver, or the first `chunk_size`."""
        return _to_pandas(self.arrow(chunk_size))

    def arrow(self, chunk_size: int | None = None) -> pa.Table:
        """Return an Arrow table with all rows, collected on the driver, or the first `chunk_size`."""
        with self._translate_errors():
            frame = self._build_frame()
            return arrow_table(frame if chunk_size is None else frame.limit(chunk_size))

    def fetchall(self) -> list[Row]:
        """Return all rows as tuples."""
        with self._translate_errors():
            return all_rows(self._build_frame())

    def fetchmany(self, chunk_size: int = 1) -> list[Row]:
        """Return the first rows as tuples."""
        with self._translate_errors():
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
            return count_rows(self._build_frame())

    def __iter__(self) -> Iterator[Row]:
        with self._translate_errors():
            yield from iter_rows(self._build_frame())

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
        return list(self.spark().columns)

    def select(self, *columns: str) -> Relation:
        """Select columns."""
        return self._derive(lambda frame: frame.select(*map(_column, columns)))

    def __getitem__(self, columns: str | Collection[str]) -> Relation:
        return self.select(*([columns] if isinstance(columns, str) else columns))

    def limit(self, limit: int) -> Relation:
        """Limit the number of rows."""
        return self._derive(lambda frame: frame.limit(limit))

    def head(self, limit: int = 5) -> Relation:
        """Limit to a few rows."""
        return self.limit(limit)

    def order_by(self, column_name: str, direction: Order = "asc") -> Relation:
        """Order by a column."""
        return self._derive(
            lambda frame: frame.orderBy(
                _column(column_name).desc() if direction == "desc" else _column(column_name).asc()
            )
        )

    def where(self, column_or_expr: str, operator: Comparison | None = None, value: Any = None) -> Relation:
        """Filter rows by a comparison of a column with a value, or by an SQL condition."""
        if operator is None:
            return self._derive(lambda frame: frame.where(column_or_expr))
        return self._derive(lambda frame: frame.where(_comparison(_column(column_or_expr), operator, value)))

    filter = where

    def max(self) -> Relation:
        """Select the greatest value of the only column."""
        return self._derive(lambda frame: frame.select(F.max(_only_column(frame))))

    def min(self) -> Relation:
        """Select the least value of the only column."""
        return self._derive(lambda frame: frame.select(F.min(_only_column(frame))))

    def from_loads(self, load_ids: Collection[str]) -> Relation:
        """Filter the rows of a root table by their loads."""
        return self.where("_dlt_load_id", "in", list(load_ids))

    def _derive(self, step: Callable[[DataFrame], DataFrame]) -> Relation:
        return Relation(self.name, self._view, self._tables, lambda: step(self._build_frame()))

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


def _column(name: str) -> Column:
    return F.col(quote_name(name))


def _only_column(frame: DataFrame) -> Column:
    if len(frame.columns) != 1:
        raise UsageError(
            f"min and max need one column, got {len(frame.columns)}", hint="select one column first"
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
