"""Part files of one table: rows and frames are buffered up to one row group and written as Parquet."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from array import array
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import StorageFull
from penstock.extract.plan import Rotation, part_name
from penstock.interfaces.file_schema import merged_type
from penstock.package.projection.explode import digest_of
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from penstock.extract.frames import Batch
    from penstock.interfaces.frame_engine import RowSender
    from penstock.package import FileStorage

ROW_COLUMN = "row"
_ROW_SCHEMA = pa.schema([pa.field(ROW_COLUMN, pa.string(), nullable=False)])
# A slice keeps its whole frame in memory: a slice that is much smaller than the frame is copied.
_MAX_WASTE_RATIO = 2


class RowGroupFile(Protocol):
    """A file that takes row groups of one schema."""

    schema: pa.Schema

    def write(self, group: pa.Table) -> None:
        """Write one row group."""

    def close(self) -> None:
        """Finish the file: all row groups are on storage."""


class RowGroupFileFactory(Protocol):
    """Opens a new file in a package."""

    def __call__(self, store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
        """Open a file; `name` includes its folder."""


class DriverFile:
    """A Parquet file that the driver writes."""

    def __init__(self, store: FileStorage, name: str, schema: pa.Schema) -> None:
        self.schema, self._store, self._name = schema, store, name
        self._stream = store.open_new(name)
        # Texts of rows repeat nothing that a dictionary could hold; the columns of frames often do.
        self._file = pq.ParquetWriter(
            self._stream, schema, compression="zstd", use_dictionary=len(schema) > 1, store_schema=False
        )

    def write(self, group: pa.Table) -> None:
        """Write one row group."""
        with self._delete_if_full():
            self._file.write_table(group, row_group_size=group.num_rows)

    def close(self) -> None:
        """Finish the file."""
        if not self._file.is_open:
            return
        with self._delete_if_full():
            self._file.close()
            self._stream.close()

    @contextmanager
    def _delete_if_full(self) -> Iterator[None]:
        """Delete the file when the disk is full: an incomplete file is useless, and the space is needed."""
        try:
            yield
        except StorageFull:
            self._file.is_open = False
            with suppress(StorageFull):  # raised already
                self._stream.close()
            self._store.delete(self._name)
            raise


def open_driver_file(store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
    """Open a file that the driver writes."""
    return DriverFile(store, name, schema)


class SessionFile:
    """Row groups that a Spark session writes: Spark names the files, and each group is complete when sent."""

    def __init__(self, send: RowSender, address: str, schema: pa.Schema) -> None:
        self.schema, self._send, self._address = schema, send, address

    def write(self, group: pa.Table) -> None:
        """Send one row group."""
        self._send(group, self._address)

    def close(self) -> None:
        """Do nothing: no file is open."""


def session_file_factory(send: RowSender) -> RowGroupFileFactory:
    """Return a factory for a machine that cannot write to the storage of packages."""

    def open_session_file(store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
        return SessionFile(send, store.path(folder), schema)

    return open_session_file


class PartWriter(ABC):
    """The part files of one table in one folder, with at most one row group in memory.

    Use as a context manager: a file is complete when it is closed.
    """

    columns: Mapping[str, Any] | None = None
    """The schema document of typed files; None for rows as JSON text."""
    has_system_columns: bool = False

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        *,
        writer_number: int | None = None,
        open_file: RowGroupFileFactory = open_driver_file,
    ) -> None:
        self._store, self._folder, self._rotation = store, folder, rotation
        self._writer_number, self._open_file = writer_number, open_file
        self._file_bytes, self._started_at = 0, time.monotonic()
        self._file: RowGroupFile | None = None
        self.rows = self.bytes = self.files = 0

    @property
    @abstractmethod
    def buffered_bytes(self) -> int:
        """Bytes that are not written yet."""

    @property
    @abstractmethod
    def buffered_rows(self) -> int:
        """Rows that are not written yet."""

    @property
    def is_open(self) -> bool:
        """Whether a file is open for more row groups."""
        return self._file is not None

    def flush(self) -> None:
        """Write the buffer as a row group; a group with other columns than the open file begins a new one."""
        if not self.buffered_rows:
            return
        size, group = self.buffered_bytes, self._buffered_group()
        if self._file is not None and self._file.schema != group.schema:
            self.close_file()
        if self._file is None:
            name = part_name(self._folder, self.files, writer=self._writer_number)
            self._file = self._open_file(self._store, self._folder, name, group.schema)
            self.files += 1
        self._file.write(group)
        self.rows += group.num_rows
        self.bytes += size
        self._file_bytes += size
        self._clear_buffer()
        if self._rotation.file_is_full(self._file_bytes):
            self.close_file()

    def close(self) -> None:
        """Write the buffer and finish the last file; later rows begin another one."""
        self.flush()
        self.close_file()

    def close_file(self) -> None:
        """Finish the open file, without the buffer."""
        if self._file is not None:
            self._file.close()
            self._file, self._file_bytes = None, 0

    def discard(self) -> None:
        """Drop all rows, buffered and written, and delete the files."""
        self.close_file()
        self._clear_buffer()
        self._delete_files()
        self.rows = self.bytes = self.files = 0

    def _flush_if_due(self, *, rows: int, size: int) -> None:
        """Write the buffer if it fills a row group; finish the file if its first row is old."""
        if self._rotation.group_is_full(rows=rows, size=size):
            self.flush()
        elif self._rotation.is_old(time.monotonic() - self._started_at):
            self.close()

    @abstractmethod
    def _buffered_group(self) -> pa.Table:
        """Return the buffer as a row group."""

    @abstractmethod
    def _clear_buffer(self) -> None:
        """Empty the buffer."""

    @abstractmethod
    def _delete_files(self) -> None:
        """Delete the files of this writer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.close_file()


class RowPartWriter(PartWriter):
    """Part files of rows as JSON text, in one column."""

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        *,
        writer_number: int | None = None,
        open_file: RowGroupFileFactory = open_driver_file,
    ) -> None:
        super().__init__(store, folder, rotation, writer_number=writer_number, open_file=open_file)
        # One buffer, not a list: the encoder's texts hold far more memory than they have characters.
        self._texts, self._offsets = bytearray(), array("i", [0])

    @property
    def buffered_bytes(self) -> int:
        """Bytes of text that are not written yet."""
        return len(self._texts)

    @property
    def buffered_rows(self) -> int:
        """Rows that are not written yet."""
        return len(self._offsets) - 1

    def write(self, text: bytes) -> None:
        """Buffer one row; it is on storage when its row group is full or the writer is closed."""
        if self._file is None and not self._texts:
            self._started_at = time.monotonic()
        self._texts += text
        self._offsets.append(len(self._texts))
        self._flush_if_due(rows=len(self._offsets) - 1, size=len(self._texts))

    def _buffered_group(self) -> pa.Table:
        # The encoder returns UTF-8, so the bytes need no check.
        texts = pa.StringArray.from_buffers(
            self.buffered_rows, pa.py_buffer(self._offsets), pa.py_buffer(self._texts)
        )
        return pa.table([texts], schema=_ROW_SCHEMA)

    def _clear_buffer(self) -> None:
        self._texts, self._offsets = bytearray(), array("i", [0])

    def _delete_files(self) -> None:
        for index in range(self.files):
            self._store.delete(part_name(self._folder, index, writer=self._writer_number))


class TypedPartWriter(PartWriter):
    """Part files of frames with compatible columns; `columns` is the schema document that reads them all."""

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        columns: Mapping[str, Any],
        *,
        open_file: RowGroupFileFactory = open_driver_file,
    ) -> None:
        super().__init__(store, folder, rotation, open_file=open_file)
        self._buffer: list[pa.Table] = []
        self._buffered_bytes = 0
        self.columns: Mapping[str, Any] = columns

    @property
    def buffered_bytes(self) -> int:
        """Bytes that are not written yet."""
        return self._buffered_bytes

    @property
    def buffered_rows(self) -> int:
        """Rows that are not written yet."""
        return sum(table.num_rows for table in self._buffer)

    def accepts(self, columns: Mapping[str, Any]) -> bool:
        """Return whether files with these columns can be stored beside the existing files."""
        return merged_type(self.columns, columns) is not None

    def write(self, batch: Batch) -> None:
        """Buffer rows; they are on storage when their row group is full or the writer is closed."""
        if self._file is None and not self._buffer:
            self._started_at = time.monotonic()
        self.columns = merged_type(self.columns, batch.columns)
        if self._buffer and self._buffer[0].schema != batch.rows.schema:
            self.flush()
        rows = _compact(batch.rows)
        self._buffer.append(rows)
        self._buffered_bytes += rows.nbytes
        self._flush_if_due(rows=self.buffered_rows, size=self._buffered_bytes)

    def _buffered_group(self) -> pa.Table:
        return pa.concat_tables(self._buffer)

    def _clear_buffer(self) -> None:
        self._buffer, self._buffered_bytes = [], 0

    def _delete_files(self) -> None:
        self._store.delete(self._folder)


class TablePartWriter(TypedPartWriter):
    """Part files that a table can take as they are: of one schema, with the system columns of root rows.

    The id of a row is its number in the folder after a digest, as in files that Spark writes.
    """

    has_system_columns = True

    def __init__(
        self,
        store: FileStorage,
        folder: str,
        rotation: Rotation,
        columns: Mapping[str, Any],
        *,
        load_id: str,
    ) -> None:
        super().__init__(store, folder, rotation, columns)
        self._load_id, self._digest = load_id, digest_of(f"{load_id}/{folder}")

    def accepts(self, columns: Mapping[str, Any]) -> bool:
        """Return whether the files have exactly these columns."""
        return self.columns == columns

    def _buffered_group(self) -> pa.Table:
        group = super()._buffered_group()
        numbers = pa.array(range(self.rows, self.rows + group.num_rows), pa.int64()).cast(pa.string())
        ids = pc.binary_join_element_wise(self._digest, numbers, "-")
        group = group.append_column(LOAD_ID_COLUMN, pa.repeat(self._load_id, group.num_rows))
        return group.append_column(ID_COLUMN, ids)


def _compact(rows: pa.Table) -> pa.Table:
    if rows.get_total_buffer_size() <= _MAX_WASTE_RATIO * rows.nbytes:
        return rows
    return rows.take(pa.array(range(rows.num_rows), pa.int64()))
