"""Calls of the function for batches; on executors pickled by value, with only Python and pyarrow."""

from __future__ import annotations

import json
import time as clock
import traceback
from datetime import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

OUTPUT_SCHEMA: Final = "batch long, error string, trace string, terminal boolean"
BATCH_COLUMN, ROW_COLUMN = "_penstock_batch", "_penstock_row"


class BatchCall:
    """The function with its arguments: a call sends one batch. Its fields are plain, to be pickled."""

    def __init__(
        self,
        *,
        function: Callable[..., Any],
        table: Mapping[str, Any],
        arguments: Mapping[str, Any],
        batch_arguments: Sequence[str],
        load_id: str,
        as_rows: bool,
    ) -> None:
        self.function, self.table, self.arguments = function, table, arguments
        self.batch_arguments, self.load_id, self.as_rows = batch_arguments, load_id, as_rows

    def send(self, number: int, batch: pa.RecordBatch | str) -> None:
        """Call the function with a batch or a path."""
        identity = {"load_id": self.load_id, "batch_number": number}
        chosen = {name: identity[name] for name in self.batch_arguments}
        self.function(self.items(batch), self.table, **{**self.arguments, **chosen})

    def items(self, batch: pa.RecordBatch | str) -> Any:
        """Return the batch as the function takes it."""
        if isinstance(batch, str):
            return batch
        typed = with_times(batch, self.table)
        return rows_of(typed, self.table) if self.as_rows else typed


class PartitionSender:
    """Sends the batches of a partition, which are sorted by number, until the time is over."""

    def __init__(self, call: bytes, deserialize: Callable[[bytes], Any], *, seconds: float) -> None:
        self.call, self.deserialize, self.seconds = call, deserialize, seconds

    def run(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the number of each batch that is sent, or the error of the batch that ended the task."""
        deadline = clock.monotonic() + self.seconds
        ended = False
        call: Any = None
        for sent, (number, batch) in enumerate(numbered_batches(rows)):
            if ended or (sent and clock.monotonic() >= deadline):
                ended = True  # the other rows are read to the end, because Spark expects that
                continue
            try:
                call = call or self.deserialize(self.call)
                call.send(number, batch)
            except Exception as error:
                ended = True
                yield _outcome(number, error)
            else:
                yield _outcome(number, None)


def numbered_batches(rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each batch with its number, without the column of the numbers."""
    number, parts = -1, list[pa.RecordBatch]()
    for chunk in rows:
        numbers = chunk.column(BATCH_COLUMN).to_pylist()
        plain = chunk.drop_columns([BATCH_COLUMN, ROW_COLUMN])
        start = 0
        for position in range(1, len(numbers) + 1):
            if position < len(numbers) and numbers[position] == numbers[start]:
                continue
            if parts and number != numbers[start]:
                yield number, merged_batch(parts)
                parts = []
            number = numbers[start]
            parts.append(plain.slice(start, position - start))
            start = position
    if parts:
        yield number, merged_batch(parts)


def merged_batch(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of several record batches in one."""
    return parts[0] if len(parts) == 1 else pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def with_times(batch: pa.RecordBatch, table: Mapping[str, Any]) -> pa.RecordBatch:
    """Return the batch with times of day in their Arrow type; they are stored as texts."""
    times = {name for name, column in table["columns"].items() if column.get("data_type") == "time"}
    arrays = [
        pa.array([None if text is None else time.fromisoformat(text) for text in array.to_pylist()], _TIME)
        if name in times and pa.types.is_string(array.type)
        else array
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def rows_of(batch: pa.RecordBatch, table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows as dicts of Python values; JSON columns are decoded."""
    columns = table["columns"]
    decoded = [
        name
        for name, field in zip(batch.schema.names, batch.schema, strict=True)
        if columns[name].get("data_type") == "json" and pa.types.is_string(field.type)
    ]
    rows: list[dict[str, Any]] = batch.to_pylist()
    for row in rows:
        for name in decoded:
            if row[name] is not None:
                row[name] = json.loads(row[name])
    return rows


_TIME: Final = pa.time64("us")


# By name: executors need not have penstock.
_TERMINAL_ERRORS: Final = frozenset(
    ("DestinationTerminalException", "UsageError", "DataError", "AssertionError")
)


def _outcome(number: int, error: Exception | None) -> pa.RecordBatch:
    message = None if error is None else f"{type(error).__name__}: {error}"
    trace = None if error is None else "".join(traceback.format_exception(error))
    is_terminal = any(base.__name__ in _TERMINAL_ERRORS for base in type(error).__mro__)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([number], pa.int64()),
            pa.array([message], pa.string()),
            pa.array([trace], pa.string()),
            pa.array([is_terminal], pa.bool_()),
        ],
        names=["batch", "error", "trace", "terminal"],
    )
