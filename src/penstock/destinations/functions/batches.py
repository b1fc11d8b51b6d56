"""Batches of the rows of a job, read from files of the package in a fixed order."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.destinations.functions.executor_task import merged_batch, rows_of, with_times
from penstock.package.typed_json import to_typed
from penstock.spark.paths import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.destinations.functions.progress import BatchProgress
    from penstock.package.storage import FileStorage
    from penstock.schema import TTableSchema


def pending_batches(store: FileStorage, progress: BatchProgress) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the batches that are not done, in order; a batch may have rows of several files."""
    size = progress.batch_size
    number, parts, buffered = 0, list[pa.RecordBatch](), 0
    for chunk in _chunks(store, [name for name, _ in progress.files]):
        rest = chunk
        while rest.num_rows:
            part = rest.slice(0, size - buffered)
            rest = rest.slice(part.num_rows)
            parts.append(part)
            buffered += part.num_rows
            if buffered == size:
                if not progress.is_done(number):
                    yield number, merged_batch(parts)
                number, parts, buffered = number + 1, [], 0
    if parts and not progress.is_done(number):
        yield number, merged_batch(parts)


@contextmanager
def file_of_batch(store: FileStorage, name: str, table: TTableSchema, *, as_rows: bool) -> Iterator[str]:
    """Provide a local file with the rows of a file of the package, within a block."""
    stored = local_path(store.path(name))
    if stored is not None and not as_rows:
        yield str(stored)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        path = Path(folder, f"{table['name']}.{'typed-jsonl.gz' if as_rows else 'parquet'}")
        if as_rows:
            with gzip.open(path, "wb") as lines:
                for chunk in _chunks(store, [name]):
                    for row in rows_of(with_times(chunk, table), table):
                        lines.write(orjson.dumps(to_typed(row)) + b"\n")
        else:
            with store.open(name) as stream:
                path.write_bytes(stream.read())
        yield str(path)


def _chunks(store: FileStorage, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for name in names:
        with store.open(name) as stream:
            yield from pq.ParquetFile(stream).iter_batches()
