"""The part files of all tables of a package, with shared limits of memory and open files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from penstock.extract.parts import RowPartWriter, open_driver_file, session_file_factory
from penstock.extract.plan import Rotation, table_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import TracebackType

    from penstock.interfaces.frame_engine import RowSender
    from penstock.package import FileStorage

_CLOSER_THREADS: Final = 16


class PartFiles(Protocol):
    """Files of one table in one folder, while they are written."""

    rows: int
    bytes: int
    files: int

    @property
    def columns(self) -> Mapping[str, Any] | None:
        """The schema document of typed files; None for rows."""

    @property
    def has_system_columns(self) -> bool:
        """Whether typed files have the system columns too, so that a table can take them as they are."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes that are not written yet."""

    @property
    def is_open(self) -> bool:
        """Whether a file is open for more row groups."""

    def write(self, data: Any, /) -> None:
        """Buffer a row, or a batch of rows."""

    def flush(self) -> None:
        """Write the buffer."""

    def close(self) -> None:
        """Write the buffer and finish the last file."""

    def close_file(self) -> None:
        """Finish the open file, without the buffer."""

    def discard(self) -> None:
        """Drop all rows, and delete the files."""


class TableWriter:
    """The part files of one table, for all resources or for one."""

    __slots__ = ("folder", "parts", "resource", "table")

    def __init__(self, *, table: str, resource: str, folder: str, parts: PartFiles) -> None:
        self.table, self.resource, self.folder, self.parts = table, resource, folder, parts


class TableWriters:
    """The writers of all tables, created at the first row of each. Use as a context manager.

    With `per_resource` every resource has separate files, so that those of a failed one can be discarded.
    `attempt` separates the folders of several attempts on one package. With `send` a session writes the
    files.
    """

    def __init__(
        self,
        store: FileStorage,
        rotation: Rotation,
        *,
        per_resource: bool = False,
        attempt: str | None = None,
        send: RowSender | None = None,
    ) -> None:
        self.store, self.rotation, self._per_resource, self._attempt = store, rotation, per_resource, attempt
        self.open_file = open_driver_file if send is None else session_file_factory(send)
        # Spark names its files: those of two resources in one folder could not be distinguished.
        self._folder_per_writer = per_resource and send is not None
        self._buffered_bytes = 0
        self._folders: dict[str | int, str] = {}
        self._writers: dict[tuple[str, str | None, int | None], TableWriter] = {}

    @property
    def all(self) -> Collection[TableWriter]:
        """Every writer, in order of creation."""
        return self._writers.values()

    def writer_for(self, name: str, *, resource: str) -> TableWriter:
        """Return the writer of a table for the rows of a resource."""
        key = name, resource if self._per_resource else None, None
        writer = self._writers.get(key)
        if writer is None:
            folder = self._folder_of(name)
            number = len(self._writers) if self._per_resource else None
            parts = RowPartWriter(
                self.store, folder, self.rotation, writer_number=number, open_file=self.open_file
            )
            writer = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
            self._writers[key] = writer
        return writer

    def _folder_of(self, name: str) -> str:
        if self._folder_per_writer:
            return self.new_folder()
        return self._folders.setdefault(name, table_folder(len(self._folders), self._attempt))

    def new_folder(self) -> str:
        """Return a new folder for further files of a table."""
        number = len(self._folders)
        return self._folders.setdefault(number, table_folder(number, self._attempt))

    def add(self, name: str, *, resource: str, folder: str, parts: PartFiles) -> TableWriter:
        """Add a writer with a separate folder."""
        writer = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
        self._writers[name, resource if self._per_resource else None, len(self._writers)] = writer
        return writer

    def discard(self, resource: str) -> None:
        """Discard everything that a resource wrote."""
        for key in [key for key in self._writers if key[1] == resource]:
            parts = self._writers.pop(key).parts
            self._buffered_bytes -= parts.buffered_bytes
            parts.discard()

    def write(self, writer: TableWriter, data: Any) -> None:
        """Write one row, or a batch, as the parts of the writer take it."""
        parts = writer.parts
        previous_bytes = parts.buffered_bytes
        parts.write(data)
        self._buffered_bytes += parts.buffered_bytes - previous_bytes
        if self._buffered_bytes > self.rotation.buffer_bytes:
            self._free_memory()

    def _free_memory(self) -> None:
        """Write buffers, the largest first, down to half of the limit; close files beyond the limit."""
        by_size = sorted(
            (writer.parts for writer in self._writers.values()), key=lambda parts: -parts.buffered_bytes
        )
        for parts in by_size:
            if self._buffered_bytes <= self.rotation.buffer_bytes // 2:
                break
            self._buffered_bytes -= parts.buffered_bytes
            parts.flush()
        opened = [parts for parts in by_size if parts.is_open]
        for parts in opened[self.rotation.open_files :]:
            parts.close_file()

    def close(self) -> None:
        """Write all buffers and finish all files, in threads because storage is slow."""
        with ThreadPoolExecutor(_CLOSER_THREADS, thread_name_prefix="penstock-extract-close") as threads:
            for done in [threads.submit(writer.parts.close) for writer in self._writers.values()]:
                done.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        for writer in self._writers.values():
            writer.parts.close_file()
