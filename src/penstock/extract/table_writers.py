"""The part files of all tables of a package, however many: memory and open files are shared out."""

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
        """The document that typed files are read by; None for rows."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes that are not written yet."""

    @property
    def is_open(self) -> bool:
        """Whether a file is open for more row groups."""

    def write(self, data: Any, /) -> None:
        """Take a row, or a batch of them."""

    def flush(self) -> None:
        """Write what is held."""

    def close(self) -> None:
        """Write what is held and finish the last file."""

    def close_file(self) -> None:
        """Finish the file that is open, without what is still held."""

    def discard(self) -> None:
        """Forget all rows, and delete the files."""


class TableWriter:
    """What is written to one table, by all resources or by one: a folder, part files, a resource."""

    __slots__ = ("folder", "parts", "resource", "table")

    def __init__(self, *, table: str, resource: str, folder: str, parts: PartFiles) -> None:
        self.table, self.resource, self.folder, self.parts = table, resource, folder, parts


class TableWriters:
    """Makes the writer of a table when its first row comes. Use as a context manager.

    With `apart` every resource has files of its own, so that what one of them wrote can be left out. Folders
    are those of the `attempt`, where a package may have seen others. With `send` a session writes the files.
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
        # Spark names what it writes: files of two resources in one folder could not be told apart.
        self._folder_per_writer = per_resource and send is not None
        self._buffered_bytes = 0
        self._folders: dict[str | int, str] = {}
        self._writers: dict[tuple[str, str | None, int | None], TableWriter] = {}

    @property
    def all(self) -> Collection[TableWriter]:
        """Every writer, in the order in which they were needed."""
        return self._writers.values()

    def writer_for(self, name: str, *, resource: str) -> TableWriter:
        """The writer of a table, for the rows of a resource."""
        key = name, resource if self._per_resource else None, None
        found = self._writers.get(key)
        if found is None:
            folder = self._folder_of(name)
            number = len(self._writers) if self._per_resource else None
            parts = RowPartWriter(
                self.store, folder, self.rotation, writer_number=number, open_file=self.open_file
            )
            found = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
            self._writers[key] = found
        return found

    def _folder_of(self, name: str) -> str:
        if self._folder_per_writer:
            return self.new_folder()
        return self._folders.setdefault(name, table_folder(len(self._folders), self._attempt))

    def new_folder(self) -> str:
        """A folder for files that stand beside what else is written to their table."""
        number = len(self._folders)
        return self._folders.setdefault(number, table_folder(number, self._attempt))

    def add(self, name: str, *, resource: str, folder: str, parts: PartFiles) -> TableWriter:
        """A writer with a folder of its own."""
        writer = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
        self._writers[name, resource if self._per_resource else None, len(self._writers)] = writer
        return writer

    def discard(self, resource: str) -> None:
        """Leave out everything that a resource wrote."""
        for key in [key for key in self._writers if key[1] == resource]:
            parts = self._writers.pop(key).parts
            self._buffered_bytes -= parts.buffered_bytes
            parts.discard()

    def write(self, writer: TableWriter, data: Any) -> None:
        """Take one row, or a batch of them, as the parts of the writer want it."""
        parts = writer.parts
        before = parts.buffered_bytes
        parts.write(data)
        self._buffered_bytes += parts.buffered_bytes - before
        if self._buffered_bytes > self.rotation.buffer_bytes:
            self._free_memory()

    def _free_memory(self) -> None:
        """Write what is held, the largest first, until half is gone; close files past the limit."""
        by_size = sorted(
            (one.parts for one in self._writers.values()), key=lambda parts: -parts.buffered_bytes
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
        """Write what is held and finish all files, several at a time: most of it is waiting for storage."""
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
