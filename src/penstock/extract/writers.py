"""The part files of all tables of a package, however many: memory and open files are shared out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from penstock.extract.parts import PartWriter
from penstock.extract.plan import Rotation, table_folder

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    from penstock.package import FileStorage

_CLOSERS: Final = 16


class TableWriter:
    """What is written to one table, by all resources or by one: a folder, part files, a resource."""

    __slots__ = ("folder", "parts", "resource", "table")

    def __init__(self, *, table: str, resource: str, folder: str, parts: PartWriter) -> None:
        self.table, self.resource, self.folder, self.parts = table, resource, folder, parts


class Writers:
    """Makes the writer of a table when its first row comes. Use as a context manager.

    With `apart` every resource has files of its own, so that what one of them wrote can be left out.
    """

    def __init__(self, store: FileStorage, rotation: Rotation, *, apart: bool = False) -> None:
        self._store, self._rotation, self._apart = store, rotation, apart
        self._held = 0
        self._folders: dict[str, str] = {}
        self._writers: dict[tuple[str, str | None], TableWriter] = {}

    @property
    def all(self) -> Collection[TableWriter]:
        """Every writer, in the order in which they were needed."""
        return self._writers.values()

    def table(self, name: str, *, resource: str) -> TableWriter:
        """The writer of a table, for the rows of a resource."""
        key = name, resource if self._apart else None
        found = self._writers.get(key)
        if found is None:
            folder = self._folders.setdefault(name, table_folder(len(self._folders)))
            number = len(self._writers) if self._apart else None
            parts = PartWriter(self._store, folder, self._rotation, number=number)
            found = TableWriter(table=name, resource=resource, folder=folder, parts=parts)
            self._writers[key] = found
        return found

    def drop(self, resource: str) -> None:
        """Leave out everything that a resource wrote."""
        for key in [key for key in self._writers if key[1] == resource]:
            parts = self._writers.pop(key).parts
            self._held -= parts.held
            parts.discard()

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
        by_size = sorted((one.parts for one in self._writers.values()), key=lambda parts: -parts.held)
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
