"""The task of an executor that copies a partition; pickled by value, with only pyspark and pyarrow."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OUTPUT_SCHEMA: Final = "rows long, replaced string, error string, missing string"
PROBE_SCHEMA: Final = "missing string"


class PsycopgProbe:
    """Looks whether a task can load psycopg."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield why it cannot; nothing if it can."""
        for _ in batches:  # read to the end, because Spark expects that
            pass
        try:
            importlib.import_module("psycopg")
        except ImportError as error:
            yield pa.RecordBatch.from_arrays([pa.array([str(error)], pa.string())], names=["missing"])


class PartitionCopier:
    """Copies the rows of a partition. The copy is pickled apart, because it needs psycopg."""

    def __init__(self, copy: bytes, deserialize: Callable[[bytes], Any]) -> None:
        self.copy, self.deserialize = copy, deserialize

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Copy the rows, and yield their number or why they were not copied."""
        try:
            copy = self.deserialize(self.copy)
        except ImportError as error:
            for _ in batches:  # read to the end, because Spark expects that
                pass
            yield _outcome(missing=str(error))
            return
        context = TaskContext.get()
        rows, replaced, refused = copy.copy_partition(
            0 if context is None else context.partitionId(), batches
        )
        for _ in batches:
            pass
        yield _outcome(rows=rows, replaced=json.dumps(replaced), error=refused)


def _outcome(
    *, rows: int = 0, replaced: str = "{}", error: str | None = None, missing: str | None = None
) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([rows], pa.int64()),
            pa.array([replaced], pa.string()),
            pa.array([error], pa.string()),
            pa.array([missing], pa.string()),
        ],
        names=["rows", "replaced", "error", "missing"],
    )
