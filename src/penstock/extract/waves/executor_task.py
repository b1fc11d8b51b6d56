"""The task of one part of a wave on an executor. Pickled by value; it needs only Python and pyarrow."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import pyarrow as pa

from penstock.extract.http_errors import http_error_details
from penstock.extract.json_fallback import encode_text, set_custom_encoder
from penstock.extract.quarantine_writer import rejection_reason, truncated_repr
from penstock.interfaces.pace import Pacer
from penstock.package.quarantine import ROOT_PATH, UNREADABLE_RULE

OUTPUT_SCHEMA: Final = "part string, row string"
ROWS_PART, QUARANTINE_PART, UNSTARTED_PART, FAILED_PART = "rows", "aside", "left", "failed"
TABLE_PART_PREFIX: Final = "table-"
"""Prefix of the table name in hex, if rows name their tables."""
MASK: Final = "***"
_MAX_ITEM_CHARS = 500
_MAX_NAME_BYTES = 100
_BATCH_ROWS, _BATCH_BYTES = 10_000, 4 << 20
_ENCODE_ERRORS = (TypeError, ValueError, RecursionError)

PartText = tuple[str, str]
"""The part of the wave's folder, and the text."""


class RowRefused(Exception):
    """A row without a JSON form, if such rows end the extraction."""


class ExecutorTask:
    """The work of all parts of a wave. Its fields are plain, because it is pickled by value."""

    def __init__(  # noqa: PLR0913 - everything that is pickled
        self,
        *,
        resource: str,
        table: str | None,
        code: bytes,
        deserialize: Callable[[bytes], Any],
        parts: Sequence[Sequence[tuple[int, Any]]],
        interval: float | None,
        seconds: float,
        secrets: Sequence[str],
        keeps_bad_rows: bool,
        paces_itself: bool = False,
    ) -> None:
        self.resource, self.table = resource, table
        self.code, self.deserialize = code, deserialize
        self.parts, self.interval, self.seconds = parts, interval, seconds
        self.secrets, self.keeps_bad_rows = secrets, keeps_bad_rows
        self.paces_itself = paces_itself

    def run(self, part: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one part in batches."""
        return _batches(self.output_rows(part))

    def output_rows(self, part: int, clock: Callable[[], float] = time.monotonic) -> Iterator[PartText]:
        """Yield the rows of one part; the first error ends it and is yielded as a row.

        Spark would retry a raised error four times without a message.
        """
        item: Any = None
        try:
            call, stages, table_name_of, encoder, enter = self.deserialize(self.code)
            set_custom_encoder(encoder)
            pacer = Pacer(self.interval) if self.interval is not None else None
            deadline = clock() + self.seconds
            with enter(self.secrets) if enter is not None else nullcontext():
                for done, (index, item) in enumerate(self.parts[part]):
                    if done and clock() >= deadline:
                        yield UNSTARTED_PART, str(index)
                        continue
                    pace: dict[str, Any] = {}
                    if pacer is not None and self.paces_itself:
                        pace = {"pace": pacer.wait}
                    elif pacer is not None:
                        pacer.wait()
                    yield from self._encode_rows(_run_stages(call(item, **pace), stages), table_name_of)
        except (Exception, SystemExit) as error:
            yield FAILED_PART, self._error_report(item, error)

    def _encode_rows(
        self, items: Iterable[Any], table_name_of: Callable[[Any], str] | None
    ) -> Iterator[PartText]:
        for number, row in enumerate(row for item in items for row in _rows_of(item)):
            part = ROWS_PART if table_name_of is None else TABLE_PART_PREFIX + _hex_name(table_name_of(row))
            try:
                text = encode_text(row)
            except _ENCODE_ERRORS as error:
                if not self.keeps_bad_rows:
                    raise RowRefused(rejection_reason(error)) from error
                part, text = QUARANTINE_PART, self._quarantine_text(row, error, number=number)
            yield part, text

    def _quarantine_text(self, row: Any, error: Exception, *, number: int) -> str:
        record = {
            "resource_name": self.resource,
            "table_name": self.table,
            "path": ROOT_PATH,
            "rule": UNREADABLE_RULE,
            "item": number,
            "reason": self._mask_secrets(rejection_reason(error)),
            "raw": self._mask_secrets(truncated_repr(row)),
        }
        return encode_text(record)

    def _error_report(self, item: Any, error: BaseException) -> str:
        url, status, body = http_error_details(error) or ("", None, "")
        # Secrets are masked here, because the text is written to storage.
        details = {
            "item": truncated_repr(item)[:_MAX_ITEM_CHARS],
            "cause": truncated_repr(error),
            "traceback": "".join(traceback.format_exception(error)),
            "url": url,
            "body": body,
        }
        masked = {key: self._mask_secrets(text) for key, text in details.items()}
        module = error.name if isinstance(error, ModuleNotFoundError) else None
        kinds = {"module": module, "is_row": isinstance(error, RowRefused), "status": status}
        return encode_text({**masked, **kinds})

    def _mask_secrets(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def bind_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return the function of a resource with the work item as parameter; arguments of the call win."""

    def call(item: Any, **overrides: Any) -> Any:
        return function(item, *args, **{**kwargs, **overrides})

    return call


def _run_stages(value: Any, stages: Sequence[Callable[[Any, Any], Any]]) -> Iterator[Any]:
    """Yield the values after all stages, in order."""
    if value is None:
        return
    if isinstance(value, (dict, list, str, int, float)):
        yield from _run_stages(stages[0](value, None), stages[1:]) if stages else (value,)
    elif isinstance(value, AsyncIterator):
        yield from _drain_async(value, stages)
    elif isinstance(value, Iterator):
        for item in value:
            yield from _run_stages(item, stages)
    elif inspect.isawaitable(value):
        yield from _run_stages(asyncio.run(_await_result(value)), stages)
    elif type(value).__name__ == "MarkedItem" and type(value).__module__.startswith("penstock."):
        raise TypeError("marks are not supported on executors: set extract.work_items to driver")
    elif callable(value):
        yield from _run_stages(value(), stages)
    else:
        yield from _run_stages(stages[0](value, None), stages[1:]) if stages else (value,)


def _drain_async(value: AsyncIterator[Any], stages: Sequence[Callable[[Any, Any], Any]]) -> Iterator[Any]:
    """Run an asynchronous generator on a new event loop, one item at a time."""
    loop, end = asyncio.new_event_loop(), object()
    try:
        while (item := loop.run_until_complete(anext(value, end))) is not end:
            yield from _run_stages(item, stages)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _await_result(value: Any) -> Any:
    return await value


def _rows_of(item: Any) -> Iterable[Any]:
    if isinstance(item, list):
        return item
    return _frame_rows(pa.table(item)) if hasattr(type(item), "__arrow_c_stream__") else (item,)


def _frame_rows(table: pa.Table) -> Iterator[Any]:
    fields = [
        # Timestamps in microseconds, as in Spark.
        field.with_type(pa.timestamp("us", tz=field.type.tz))
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
        else field
        for field in table.schema
    ]
    for batch in table.cast(pa.schema(fields), safe=False).to_batches(_BATCH_ROWS):
        yield from batch.to_pylist()


def _hex_name(name: str) -> str:
    encoded = str(name).encode()
    if not 0 < len(encoded) <= _MAX_NAME_BYTES:
        raise ValueError(f"{name!r:.80} cannot be the name of a table")
    return encoded.hex()


def _batches(rows: Iterable[PartText]) -> Iterator[pa.RecordBatch]:
    """Yield batches with limited rows and bytes."""
    parts: list[str] = []
    texts: list[str] = []
    size = 0
    for part, text in rows:
        parts.append(part)
        texts.append(text)
        size += len(text)
        if len(texts) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield _batch(parts, texts)
            parts, texts, size = [], [], 0
    if texts:
        yield _batch(parts, texts)


def _batch(parts: list[str], texts: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(parts, pa.string()), pa.array(texts, pa.string())], names=["part", "row"]
    )
