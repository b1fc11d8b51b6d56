"""Writes batches of typed columns into Parquet part files, holding one row group at most."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.extract.plan import Rotation, part_name
from penstock.extract.row_group_files import open_driver_file
from penstock.interfaces.file_schema import merged_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.extract.frames import Batch
    from penstock.extract.row_group_files import RowGroupFile, RowGroupFileFactory
    from penstock.package import FileStorage

# A slice keeps all of the frame in memory that it was cut from: one that is much smaller is copied.
_MAX_WASTE_RATIO = 2


class TypedPartWriter:
    """The part files of frames whose columns fit together; `columns` is the document that reads them all."""

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        columns: Mapping[str, Any],
        *,
        open_file: RowGroupFileFactory = open_driver_file,
    ) -> None:
        self._store, self._folder, self._rotation, self._open_file = store, folder, rotation, open_file
        self._buffer: list[pa.Table] = []
        self._file: RowGroupFile | None = None
        self._file_bytes, self._started_at = 0, time.monotonic()
        self.columns: Mapping[str, Any] = columns
        self.buffered_bytes = self.rows = self.bytes = self.files = 0

    @property
    def is_open(self) -> bool:
        """Whether a file is open for more row groups."""
        return self._file is not None

    def accepts(self, columns: Mapping[str, Any]) -> bool:
        """Whether files with these columns can stand beside those that are there."""
        return merged_type(self.columns, columns) is not None

    def write(self, batch: Batch) -> None:
        """Take rows; they are on storage when their row group is full or the writer is closed."""
        if self._file is None and not self._buffer:
            self._started_at = time.monotonic()
        self.columns = merged_type(self.columns, batch.columns)
        if self._buffer and self._buffer[0].schema != batch.rows.schema:
            self.flush()
        rows = _compact(batch.rows)
        self._buffer.append(rows)
        self.buffered_bytes += rows.nbytes
        if self._rotation.group_is_full(
            rows=sum(one.num_rows for one in self._buffer), size=self.buffered_bytes
        ):
            self.flush()
        elif self._rotation.is_old(time.monotonic() - self._started_at):
            self.close()

    def close(self) -> None:
        """Write what is held and finish the last file; more rows would begin another one."""
        self.flush()
        self.close_file()

    def flush(self) -> None:
        """Write what is held as a row group; other columns than those of the open file begin a new one."""
        if not self._buffer:
            return
        group = pa.concat_tables(self._buffer)
        if self._file is not None and self._file.schema != group.schema:
            self.close_file()
        if self._file is None:
            name = part_name(self._folder, self.files)
            self._file = self._open_file(self._store, self._folder, name, group.schema)
            self.files += 1
        self._file.write(group)
        self.rows += group.num_rows
        self.bytes += self.buffered_bytes
        self._file_bytes += self.buffered_bytes
        self._buffer, self.buffered_bytes = [], 0
        if self._rotation.file_is_full(self._file_bytes):
            self.close_file()

    def close_file(self) -> None:
        """Finish the file that is open, without what is still held."""
        if self._file is not None:
            self._file.close()
            self._file, self._file_bytes = None, 0

    def discard(self) -> None:
        """Forget all rows: those that are held, and those that are written."""
        self.close_file()
        self._store.delete(self._folder)
        self._buffer = []
        self.buffered_bytes = self.rows = self.bytes = self.files = 0


def _compact(rows: pa.Table) -> pa.Table:
    if rows.get_total_buffer_size() <= _MAX_WASTE_RATIO * rows.nbytes:
        return rows
    return rows.take(pa.array(range(rows.num_rows), pa.int64()))
