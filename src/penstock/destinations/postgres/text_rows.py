"""Rows as texts for Spark's JDBC writer, where executors have no psycopg; pickled by value, with pyarrow.

Each partition ends with a note: its number of rows, which makes it complete, or why it was refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext

from penstock.destinations.postgres.binary_copy import ValueNotStorable, check_years, clean_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PART: Final = "part"
NOTE: Final = "note"
_TEXTS: Final = frozenset(("text", "jsonb"))


class TextRows:
    """Yields the rows of a partition with columns `c0`, `c1` and so on, as Postgres parses them, and a note.

    `types` are the types of COPY of the columns, by name and in their order. Only `bytea` is no text.
    """

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = dict(types)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, then the note."""
        context, rest = TaskContext.get(), iter(batches)
        part, rows = 0 if context is None else context.partitionId(), 0
        replaced: dict[str, int] = {}
        error = None
        try:
            for batch in rest:
                columns = [self._column(batch, name, kind, replaced) for name, kind in self.types.items()]
                rows += batch.num_rows
                yield self._batch(columns, part=part, rows=batch.num_rows, note=None)
        except ValueNotStorable as refusal:
            error = {"column": refusal.column, "reason": refusal.reason}
            for _ in rest:  # read to the end, because Spark expects that
                pass
        note = json.dumps({"rows": rows, "replaced": replaced, "error": error})
        empty = [pa.array([None], self._arrow_type(kind)) for kind in self.types.values()]
        yield self._batch(empty, part=part, rows=1, note=note)

    def _column(self, batch: pa.RecordBatch, name: str, kind: str, replaced: dict[str, int]) -> pa.Array:
        values = batch.column(name)
        if kind == "bytea":
            return values.cast(pa.binary())
        try:
            if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
                check_years(values)
            if pa.types.is_timestamp(values.type):
                values = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.timestamp("us"))
            texts = values.cast(pa.string())
        except (ValueError, pa.ArrowNotImplementedError) as error:
            raise ValueNotStorable(name, f"{kind}: {error}") from error
        if kind not in _TEXTS:
            return texts
        clean, count = clean_texts(texts, is_json=kind == "jsonb")
        if count:
            replaced[name] = replaced.get(name, 0) + count
        return clean

    def _batch(self, columns: list[pa.Array], *, part: int, rows: int, note: str | None) -> pa.RecordBatch:
        parts, notes = pa.array([part] * rows, pa.int64()), pa.array([note] * rows, pa.string())
        names = [text_column(number) for number in range(len(columns))]
        return pa.RecordBatch.from_arrays([*columns, parts, notes], names=[*names, PART, NOTE])

    @staticmethod
    def _arrow_type(kind: str) -> Any:
        return pa.binary() if kind == "bytea" else pa.string()


def text_column(number: int) -> str:
    """Return the name of a column of texts: JDBC writers do not quote every name correctly."""
    return f"c{number}"


def text_schema(types: Mapping[str, str]) -> str:
    """Return the columns of the rows in Spark SQL.

    >>> text_schema({"id": "int8", "photo": "bytea"})
    'c0 string, c1 binary, part bigint, note string'
    """
    kinds = ("binary" if kind == "bytea" else "string" for kind in types.values())
    columns = (f"{text_column(number)} {kind}" for number, kind in enumerate(kinds))
    return f"{', '.join(columns)}, {PART} bigint, {NOTE} string"
