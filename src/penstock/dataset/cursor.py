"""A cursor: the rows of one query, taken one after another."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.dataset.relation import Relation

    Row = tuple[Any, ...]
    ColumnDescription = tuple[str, str, None, None, None, None, bool]


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
