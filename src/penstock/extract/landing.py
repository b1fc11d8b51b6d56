"""Frames are landed as they are, typed: each in files whose columns it fits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.errors import FilesChanged, StorageNotShared, UsageError
from penstock.extract.frames import batches_of
from penstock.extract.typedparts import TypedPartWriter
from penstock.interfaces.landing import land
from penstock.package.quarantine import TABLE as ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.extract.aside import Aside
    from penstock.extract.frames import Batch
    from penstock.extract.tables import Route
    from penstock.extract.writers import TableWriter, Writers
    from penstock.interfaces.frames import FrameKind
    from penstock.interfaces.landing import FrameHook, SiftedFrame
    from penstock.package import FileStorage

_READERS: Final = 16
_HIDDEN: Final = ("_", ".")


class Landing:
    """Takes the frames of all resources of a flow. Rows beside them go their own way."""

    def __init__(self, writers: Writers, aside: Aside) -> None:
        self._writers, self._aside = writers, aside
        self._typed: dict[tuple[str, str], list[TableWriter]] = {}

    def put(self, frame: Any, kind: FrameKind, route: Route) -> int:
        """Write a frame of this process; gives its rows."""
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
        writers.append(self._writers.add(route.table, resource=route.resource, folder=folder, parts=parts))
        return writers[-1]

    def begin(
        self, frame: Any, kind: FrameKind, route: Route, hook: FrameHook | None
    ) -> Callable[[], Landed]:
        """What lands a frame that lives in Spark, in any thread; `take` has what came of it counted.

        One job, into a folder of its own: a job that dies leaves nothing behind that counts.
        """
        if kind == "sifted":
            return self._begin_sifted(frame, route, hook)
        parts = self._parts()

        def land() -> Landed:
            parts.land(frame.spark() if kind == "relation" else frame, hook)
            return Landed(parts)

        return land

    def _begin_sifted(
        self, sifted: SiftedFrame, route: Route, hook: FrameHook | None
    ) -> Callable[[], Landed]:
        """One job, and another for the rows that are put aside, if there are any."""
        if sifted.is_text and hook is not None:
            raise UsageError(
                f"{route.resource} lands rows as text, and a cursor has to see their values",
                hint="put the cursor on the files, or read them with work items",
            )
        parts, aside = self._parts(is_text=sifted.is_text), self._parts(is_text=True)

        def land() -> Landed:
            parts.land(sifted.frame, hook, sifted.aside)
            if parts.aside == 0 or sifted.told is None:
                return Landed(parts)
            aside.land(sifted.told(route.resource, route.table), None)
            if parts.aside not in {None, aside.rows}:
                raise FilesChanged(resource=route.resource, first=parts.aside, then=aside.rows)
            return Landed(parts, aside)

        return land

    def take(self, landed: Landed, route: Route) -> int:
        """Count what was landed; gives its rows."""
        self._add(route.table, route, landed.parts)
        if landed.aside is None:
            return landed.parts.rows
        self._add(ASIDE, route, landed.aside)
        self._aside.count(route.resource, landed.aside.rows)
        return landed.parts.rows + landed.aside.rows

    def _parts(self, *, is_text: bool = False) -> LandedParts:
        return LandedParts(store=self._writers.store, folder=self._writers.new_folder(), is_text=is_text)

    def _add(self, table: str, route: Route, parts: LandedParts) -> None:
        if parts.is_text and not parts.rows:
            parts.discard()
        else:
            self._writers.add(table, resource=route.resource, folder=parts.folder, parts=parts)


@dataclass(slots=True)
class LandedParts:
    """Files that were written by Spark: there is nothing to hold, and nothing to finish."""

    store: FileStorage
    folder: str
    is_text: bool = False
    """Whether the one column holds rows as JSON texts."""
    columns: Mapping[str, Any] | None = None
    aside: int | None = 0
    rows: int = 0
    bytes: int = 0
    files: int = 0
    held: int = 0
    is_open: bool = False

    def land(self, frame: Any, hook: FrameHook | None, aside: str | None = None) -> None:
        """Have the frame written, and look at what came of it; what Spark did not count, the files tell."""
        landed = land(
            frame, self.store.path(self.folder), hook=hook, conf=self.store.hadoop_conf, aside=aside
        )
        found = [one for one in self.store.entries(self.folder) if not one.name.startswith(_HIDDEN)]
        if not found:
            raise StorageNotShared(
                path=self.store.path(self.folder), seen_by="the executors", missing_for="the driver"
            )
        names = [f"{self.folder}/{one.name}" for one in found]
        self.columns, self.aside = None if self.is_text else landed.columns, landed.aside
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


@dataclass(frozen=True, slots=True)
class Landed:
    """What came of a frame: its rows, and those of it that are put aside."""

    parts: LandedParts
    aside: LandedParts | None = None


def _rows_in(store: FileStorage, names: list[str]) -> int:
    """By the footers of the files, several at a time: most of it is waiting for storage."""

    def count(name: str) -> int:
        with store.open(name) as stream:
            return int(pq.read_metadata(stream).num_rows)

    with ThreadPoolExecutor(_READERS, thread_name_prefix="penstock-extract-count") as threads:
        return sum(threads.map(count, names))
