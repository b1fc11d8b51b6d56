"""Writes frames with their types, each into files with compatible columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import FilesChanged, StorageNotShared, UsageError
from penstock.extract.frames import frame_batches, to_table_batch
from penstock.extract.parts import TablePartWriter, TypedPartWriter, open_driver_file
from penstock.interfaces.deletions import DeletedRows
from penstock.interfaces.frame_engine import require_frame_engine
from penstock.package.folder import count_rows, data_files
from penstock.package.projection.explode import task_position_id
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.package.sql import literal
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.extract.frames import Batch
    from penstock.extract.quarantine_writer import QuarantineWriter
    from penstock.extract.routing import Route
    from penstock.extract.table_writers import TableWriter, TableWriters
    from penstock.interfaces.frame_engine import FrameEngine, FrameHook, QuarantiningFrame
    from penstock.interfaces.frames import FrameKind
    from penstock.package import FileStorage


class FrameWriter:
    """Writes the frames of all resources of a flow."""

    def __init__(
        self,
        writers: TableWriters,
        quarantine: QuarantineWriter,
        engine: FrameEngine | None = None,
        *,
        load_id: str,
    ) -> None:
        self._writers, self._quarantine, self._engine = writers, quarantine, engine
        self._load_id = load_id
        self._typed_writers: dict[tuple[str, str], list[TableWriter]] = {}

    def write(self, frame: Any, kind: FrameKind, route: Route) -> int:
        """Write a frame of this process; return its row count."""
        rows = 0
        for typed in frame_batches(frame, kind, self._writers.rotation):
            # Spark names the files that a session writes, and may give their timestamps no bounds.
            flat = to_table_batch(typed) if self._writers.open_file is open_driver_file else None
            batch, parts_class = (typed, TypedPartWriter) if flat is None else (flat, TablePartWriter)
            self._writers.write(self._compatible_writer(batch, route, parts_class), batch)
            rows += batch.rows.num_rows
        return rows

    def _compatible_writer(
        self, batch: Batch, route: Route, parts_class: type[TypedPartWriter]
    ) -> TableWriter:
        """Return the writer of the table whose columns are compatible, or a new one."""
        writers = self._typed_writers.setdefault((route.table, route.resource), [])
        for writer in writers:
            parts = writer.parts
            if type(parts) is parts_class and parts.accepts(batch.columns):
                return writer
        folder = self._writers.new_folder()
        parts = self._new_part_writer(folder, batch.columns, parts_class)
        writers.append(self._writers.add(route.table, resource=route.resource, folder=folder, parts=parts))
        return writers[-1]

    def _new_part_writer(
        self, folder: str, columns: Mapping[str, Any], parts_class: type[TypedPartWriter]
    ) -> TypedPartWriter:
        store, rotation = self._writers.store, self._writers.rotation
        if parts_class is TablePartWriter:
            return TablePartWriter(store, folder, rotation, columns, load_id=self._load_id)
        return TypedPartWriter(store, folder, rotation, columns, open_file=self._writers.open_file)

    def prepare_spark_write(
        self, frame: Any, kind: FrameKind, route: Route, hook: FrameHook | None
    ) -> Callable[[], WrittenFrame]:
        """Return a function that writes a Spark DataFrame, in any thread; pass its result to `add_written`.

        It runs one job, into a separate folder: a failed job leaves no files that count.
        """
        if kind == "sifted":
            return self._prepare_sifted_write(frame, route, hook)
        parts = self._new_parts()

        def write() -> WrittenFrame:
            if isinstance(frame, DeletedRows):
                parts.write_frame(frame.frame, None)
                frame.check_count(parts.rows)
                return WrittenFrame(parts, is_deletion=True)
            parts.write_frame(frame.spark() if kind == "relation" else frame, hook)
            return WrittenFrame(parts)

        return write

    def _prepare_sifted_write(
        self, sifted: QuarantiningFrame, route: Route, hook: FrameHook | None
    ) -> Callable[[], WrittenFrame]:
        """Return a function that runs one job, and a second one if rows are quarantined."""
        if sifted.is_text and hook is not None:
            raise UsageError(
                f"{route.resource} reads rows as text, so a cursor cannot see their values",
                hint="use the cursor on the files, or read the files as work items",
            )
        parts, quarantine_parts = self._new_parts(is_text=sifted.is_text), self._new_parts(is_text=True)

        def write() -> WrittenFrame:
            parts.write_frame(sifted.frame, hook, sifted.quarantine_column)
            if parts.quarantined_rows == 0 or sifted.quarantine_rows is None:
                return WrittenFrame(parts)
            quarantine_parts.write_frame(sifted.quarantine_rows(route.resource, route.table), None)
            first, then = parts.quarantined_rows, quarantine_parts.rows
            if first not in {None, then}:
                raise FilesChanged(resource=route.resource, first=first, then=then)
            return WrittenFrame(parts, quarantine_parts)

        return write

    def add_written(self, written: WrittenFrame, route: Route) -> int:
        """Add a written frame to the tables; return its row count."""
        if written.is_deletion and not written.parts.rows:
            written.parts.discard()
            return 0
        self._add_parts(route.table, route, written.parts)
        if written.quarantine_parts is None:
            return written.parts.rows
        self._add_parts(QUARANTINE_TABLE, route, written.quarantine_parts)
        self._quarantine.add_count(route.resource, written.quarantine_parts.rows)
        return written.parts.rows + written.quarantine_parts.rows

    def _new_parts(self, *, is_text: bool = False) -> SparkPartFiles:
        folder = self._writers.new_folder()
        return SparkPartFiles(
            store=self._writers.store,
            folder=folder,
            engine=require_frame_engine(self._engine),
            is_text=is_text,
            system_columns=None if is_text else system_columns(self._load_id, folder),
        )

    def _add_parts(self, table: str, route: Route, parts: SparkPartFiles) -> None:
        if parts.is_text and not parts.rows:
            parts.discard()
        else:
            self._writers.add(table, resource=route.resource, folder=parts.folder, parts=parts)


@dataclass(slots=True)
class SparkPartFiles:
    """Part files that Spark has written: nothing is buffered."""

    store: FileStorage
    folder: str
    engine: FrameEngine
    is_text: bool = False
    """Whether the only column has rows as JSON texts."""
    system_columns: Mapping[str, str] | None = None
    """The columns to add to files that a table can take as they are, in SQL."""
    has_system_columns: bool = False
    columns: Mapping[str, Any] | None = None
    quarantined_rows: int | None = 0
    rows: int = 0
    bytes: int = 0
    files: int = 0
    buffered_bytes: int = 0
    is_open: bool = False

    def write_frame(self, frame: Any, hook: FrameHook | None, quarantine_column: str | None = None) -> None:
        """Write the frame, and read its files; rows that Spark did not count are counted from them."""
        result = self.engine.write_frame(
            frame,
            self.store.path(self.folder),
            hook=hook,
            conf=self.store.hadoop_conf,
            quarantine_column=quarantine_column,
            system_columns=self.system_columns,
        )
        files = data_files(self.store.sizes(self.folder))
        if not files:
            raise StorageNotShared(
                path=self.store.path(self.folder), seen_by="the executors", missing_for="the driver"
            )
        names = [f"{self.folder}/{name}" for name in files]
        self.columns = None if self.is_text else result.columns
        self.has_system_columns = result.has_system_columns
        self.quarantined_rows = result.quarantined_rows
        self.rows = count_rows(self.store, names) if result.rows is None else result.rows
        self.bytes, self.files = sum(files.values()), len(files)

    def write(self, batch: Any) -> None:
        """Raise: no rows can be added to these files."""
        raise NotImplementedError

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    close = close_file = flush

    def discard(self) -> None:
        """Delete the files."""
        self.store.delete(self.folder)
        self.rows = self.bytes = self.files = 0


@dataclass(frozen=True, slots=True)
class WrittenFrame:
    """The files of a frame, and those of its quarantined rows."""

    parts: SparkPartFiles
    quarantine_parts: SparkPartFiles | None = None
    is_deletion: bool = False


def system_columns(load_id: str, folder: str) -> dict[str, str]:
    """Return SQL for the system columns of root rows that Spark writes to a folder of a package."""
    return {LOAD_ID_COLUMN: literal(load_id), ID_COLUMN: task_position_id(load_id, folder=folder)}
