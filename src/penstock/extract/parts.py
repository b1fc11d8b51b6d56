"""Writes JSON texts into Parquet part files as they come, holding one row group at most."""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from penstock.extract.plan import Rotation, part_name
from penstock.extract.row_group_files import open_driver_file

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.extract.row_group_files import RowGroupFile, RowGroupFileFactory
    from penstock.package import FileStorage

ROW_COLUMN = "row"
_SCHEMA = pa.schema([pa.field(ROW_COLUMN, pa.string(), nullable=False)])


class PartWriter:
    """One resource's part files. Use as a context manager: a file is complete when it is closed."""

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        *,
        writer_number: int | None = None,
        open_file: RowGroupFileFactory = open_driver_file,
    ) -> None:
        self._store, self._folder, self._rotation, self._writer_number = (
            store,
            folder,
            rotation,
            writer_number,
        )
        self._open_file = open_file
        # One buffer, not a list: the encoder's texts hold far more memory than they have characters.
        self._texts, self._offsets = bytearray(), array("i", [0])
        self._file_bytes, self._started_at = 0, time.monotonic()
        self._file: RowGroupFile | None = None
        self.rows = self.bytes = self.files = 0
        self.columns = None

    def write(self, text: bytes) -> None:
        """Take one row; it is on storage when its row group is full or the writer is closed."""
        if self._file is None and not self._texts:
            self._started_at = time.monotonic()
        self._texts += text
        self._offsets.append(len(self._texts))
        if self._rotation.group_is_full(rows=len(self._offsets) - 1, size=len(self._texts)):
            self.flush()
        elif self._rotation.is_old(time.monotonic() - self._started_at):
            self.close()

    @property
    def buffered_bytes(self) -> int:
        """Bytes of text that are not written yet."""
        return len(self._texts)

    @property
    def is_open(self) -> bool:
        """Whether a file is open for more row groups."""
        return self._file is not None

    def close(self) -> None:
        """Write what is held and finish the last file; more rows would begin another one."""
        self.flush()
        self.close_file()

    def flush(self) -> None:
        """Write what is held as a row group."""
        rows, size = len(self._offsets) - 1, len(self._texts)
        if not rows:
            return
        if self._file is None:
            name = part_name(self._folder, self.files, writer=self._writer_number)
            self._file = self._open_file(self._store, self._folder, name, _SCHEMA)
            self.files += 1
        # The encoder gives UTF-8, so the bytes are taken as text without a look at them.
        texts = pa.StringArray.from_buffers(rows, pa.py_buffer(self._offsets), pa.py_buffer(self._texts))
        self._file.write(pa.table([texts], schema=_SCHEMA))
        self.rows += rows
        self.bytes += size
        self._file_bytes += size
        self._texts, self._offsets = bytearray(), array("i", [0])
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
        self._texts, self._offsets = bytearray(), array("i", [0])
        for index in range(self.files):
            self._store.delete(part_name(self._folder, index, writer=self._writer_number))
        self.rows = self.bytes = self.files = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.close_file()
