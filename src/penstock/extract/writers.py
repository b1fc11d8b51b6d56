"""The part files of all tables of a package, however many: memory and open files are shared out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from penstock.extract.parts import PartWriter
from penstock.extract.plan import Rotation, table_folder

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.package import FileStorage

_CLOSERS: Final = 16


class TableWriter:
    """One table: its folder, its part files, and the resource that wrote to it first."""

    __slots__ = ("folder", "parts", "resource", "table")

    def __init__(self, *, table: str, resource: str, folder: str, parts: PartWriter) -> None:
        self.table, self.resource, self.folder, self.parts = table, resource, folder, parts


class Writers:
    """Makes the writer of a table when its first row comes. Use as a context manager."""

    def __init__(self, store: FileStorage, rotation: Rotation, *, attempt: str | None = None) -> None:
        self._store, self._rotation, self._attempt = store, rotation, attempt
        self._held = 0
        self.tables: dict[str, TableWriter] = {}

    def table(self, name: str, *, resource: str) -> TableWriter:
        """The writer of a table."""
        found = self.tables.get(name)
        if found is None:
            folder = table_folder(len(self.tables), self._attempt)
            parts = PartWriter(self._store, folder, self._rotation)
            found = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
            self.tables[name] = found
        return found

    def write(self, writer: TableWriter, text: bytes) -> None:
        """Take one row."""
        parts = writer.parts
        before = parts.held
        parts.write(text)
        self._held += parts.held - before
        if self._held > self._rotation.held_bytes:
            self._relieve()

    def _relieve(self) -> None:
        """Write what is held, the largest first, until half is gone; close files past the limit."""
        by_size = sorted((one.parts for one in self.tables.values()), key=lambda parts: -parts.held)
        for parts in by_size:
            if self._held <= self._rotation.held_bytes // 2:
                break
            self._held -= parts.held
            parts.flush()
        opened = [parts for parts in by_size if parts.is_open]
        for parts in opened[self._rotation.open_files :]:
            parts.close_file()

    def close(self) -> None:
        """Write what is held and finish all files, several at a time: most of it is waiting for storage."""
        with ThreadPoolExecutor(_CLOSERS, thread_name_prefix="penstock-extract-close") as threads:
            for done in [threads.submit(writer.parts.close) for writer in self.tables.values()]:
                done.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        for writer in self.tables.values():
            writer.parts.close_file()
