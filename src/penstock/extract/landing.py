"""Frames are landed as they are, typed: each in files whose columns it fits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.errors import StorageNotShared
from penstock.extract.frames import batches_of
from penstock.extract.typedparts import TypedPartWriter
from penstock.interfaces.landing import land

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.extract.frames import Batch
    from penstock.extract.tables import Route
    from penstock.extract.writers import Parts, TableWriter, Writers
    from penstock.interfaces.frames import FrameKind
    from penstock.interfaces.landing import FrameHook
    from penstock.package import FileStorage

_READERS: Final = 16
_HIDDEN: Final = ("_", ".")


class Landing:
    """Takes the frames of all resources of a flow. Rows beside them go their own way."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._typed: dict[tuple[str, str], list[TableWriter]] = {}

    def put(self, frame: Any, kind: FrameKind, route: Route, hook: FrameHook | None = None) -> int:
        """Land a frame; gives its rows. `hook` is for frames that live in Spark."""
        match kind:
            case "spark":
                return self._put_spark(frame, route, hook)
            case "relation":
                return self._put_spark(frame.spark(), route, hook)
            case _:
                return self._put_batches(frame, kind, route)

    def _put_batches(self, frame: Any, kind: FrameKind, route: Route) -> int:
        rows = 0
        for batch in batches_of(frame, kind, self._writers.rotation):
            self._writers.write(self._fitting(batch, route), batch)
            rows += batch.rows.num_rows
        return rows

    def _fitting(self, batch: Batch, route: Route) -> TableWriter:
        """The files of the table that these columns fit into, or new ones."""
        writers = self._typed.setdefault((route.table, route.resource), [])
        for writer in writers:
            parts = writer.parts
            if isinstance(parts, TypedPartWriter) and parts.takes(batch.columns):
                return writer
        folder = self._writers.new_folder()
        parts = TypedPartWriter(
            self._writers.store, folder, self._writers.rotation, batch.columns, begin=self._writers.begin
        )
        writers.append(self._add(route, folder, parts))
        return writers[-1]

    def _put_spark(self, frame: Any, route: Route, hook: FrameHook | None) -> int:
        """One job, into a folder of its own: a job that dies leaves nothing behind that counts."""
        folder = self._writers.new_folder()
        parts = LandedParts(store=self._writers.store, folder=folder)
        parts.land(frame, hook)
        self._add(route, folder, parts)
        return parts.rows

    def _add(self, route: Route, folder: str, parts: Parts) -> TableWriter:
        return self._writers.add(route.table, resource=route.resource, folder=folder, parts=parts)


@dataclass(slots=True)
class LandedParts:
    """Files that were written by Spark: there is nothing to hold, and nothing to finish."""

    store: FileStorage
    folder: str
    columns: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    files: int = 0
    held: int = 0
    is_open: bool = False

    def land(self, frame: Any, hook: FrameHook | None) -> None:
        """Have the frame written, and look at what came of it; what Spark did not count, the files tell."""
        landed = land(frame, self.store.path(self.folder), hook=hook, conf=self.store.hadoop_conf)
        found = [one for one in self.store.entries(self.folder) if not one.name.startswith(_HIDDEN)]
        if not found:
            raise StorageNotShared(
                path=self.store.path(self.folder), seen_by="the executors", missing_for="the driver"
            )
        names = [f"{self.folder}/{one.name}" for one in found]
        self.columns = landed.columns
        self.rows = _rows_in(self.store, names) if landed.rows is None else landed.rows
        self.bytes, self.files = sum(one.size for one in found), len(found)

    def write(self, batch: Any) -> None:
        """Nothing more comes into these files."""
        raise NotImplementedError

    def flush(self) -> None:
        """Nothing is held."""

    close = close_file = flush

    def discard(self) -> None:
        """Delete the files."""
        self.store.delete(self.folder)
        self.rows = self.bytes = self.files = 0


def _rows_in(store: FileStorage, names: list[str]) -> int:
    """By the footers of the files, several at a time: most of it is waiting for storage."""

    def count(name: str) -> int:
        with store.open(name) as stream:
            return int(pq.read_metadata(stream).num_rows)

    with ThreadPoolExecutor(_READERS, thread_name_prefix="penstock-extract-count") as threads:
        return sum(threads.map(count, names))
