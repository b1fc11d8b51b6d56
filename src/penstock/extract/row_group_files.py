"""Where row groups go: into Parquet files that this machine writes, or through a Spark session."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import pyarrow.parquet as pq

from penstock.errors import StorageFull

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from penstock.interfaces.frame_writer import RowSender
    from penstock.package import FileStorage


class RowGroupFile(Protocol):
    """Takes row groups of one schema."""

    schema: pa.Schema

    def write(self, group: pa.Table) -> None:
        """Write one row group."""

    def close(self) -> None:
        """All row groups are on storage now."""


class RowGroupFileFactory(Protocol):
    """Begins a file in a package."""

    def __call__(self, store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
        """`name` is that of the file, with its folder."""


class DriverFile:
    """A Parquet file that this machine writes."""

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
        """Delete the file where the disk is full: half of it is of no use, and the space is needed."""
        try:
            yield
        except StorageFull:
            self._file.is_open = False
            with suppress(StorageFull):  # raised already
                self._stream.close()
            self._store.delete(self._name)
            raise


def open_driver_file(store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
    """The usual way."""
    return DriverFile(store, name, schema)


class SessionFile:
    """Row groups that a session writes: Spark gives the names, and each group is complete when it is sent."""

    def __init__(self, send: RowSender, address: str, schema: pa.Schema) -> None:
        self.schema, self._send, self._address = schema, send, address

    def write(self, group: pa.Table) -> None:
        """Send one row group."""
        self._send(group, self._address)

    def close(self) -> None:
        """Nothing is open."""


def session_file_factory(send: RowSender) -> RowGroupFileFactory:
    """The way for a machine that cannot write where the packages are."""

    def begin(store: FileStorage, folder: str, name: str, schema: pa.Schema) -> RowGroupFile:
        return SessionFile(send, store.path(folder), schema)

    return begin
