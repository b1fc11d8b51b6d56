"""Files as rows, in dlt's form."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import unquote

from penstock.interfaces.run_context import item_digest
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_MIME_TYPES: dict[str, str] = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".json": "application/json",
    ".parquet": "application/parquet",
}


class FileItem(TypedDict, total=False):
    """The row of a listed file."""

    file_url: str
    file_name: str
    relative_path: str
    mime_type: str
    encoding: str | None
    modification_date: datetime
    size_in_bytes: int
    file_content: bytes | None


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in a listing. `path` is relative to the folder that is listed; `modified` is in nanoseconds."""

    path: str
    size: int
    modified: int


class FileItemDict(dict[str, Any]):
    """A file as a row that can be opened; without `fsspec` the file system is that of its URL."""

    def __init__(self, mapping: FileItem, fsspec: AbstractFileSystem | None = None) -> None:
        super().__init__(mapping)
        self._folder, _, name = mapping["file_url"].rpartition("/")
        name = unquote(name) if self._folder.startswith("file:") else name
        modified = datetime_nanoseconds(mapping["modification_date"])
        self.file = ListedFile(path=name, size=mapping.get("size_in_bytes", 0), modified=modified)
        self._file_system = fsspec

    @classmethod
    def of(cls, file: ListedFile, location: FolderLocation) -> FileItemDict:
        """Return a listed file as a row."""
        item = cls(file_row(file, location), location.file_system)
        item.file, item.__dict__["location"] = file, location
        return item

    @cached_property
    def location(self) -> FolderLocation:
        """The folder of the file."""
        return FolderLocation.of(self._folder, self._file_system)

    @property
    def fsspec(self) -> AbstractFileSystem:
        """The file system of the file."""
        file_system: AbstractFileSystem = self.location.file_system
        return file_system

    @property
    def local_file_path(self) -> str:
        """The path on this machine."""
        return str(Path(self.location.fs_path(self.file.path)))

    def open(
        self,
        mode: str = "rb",
        compression: Literal["auto", "disable", "enable"] = "auto",
        **kwargs: Any,
    ) -> IO[Any]:
        """Open the file; gzip is unpacked by the ending of the name, unless `compression` is set."""
        is_gzip = compression == "enable" or (compression == "auto" and self["encoding"] == "gzip")
        stream: IO[Any] = self.fsspec.open(
            self.location.fs_path(self.file.path),
            mode=mode,
            compression="gzip" if is_gzip else None,
            **kwargs,
        )
        return stream

    def read_bytes(self) -> bytes:
        """Return the stored bytes of the file."""
        content: bytes | None = self.get("file_content")
        return self.location.read_bytes(self.file.path) if content is None else content


def file_row(file: ListedFile, location: FolderLocation) -> FileItem:
    """Return the row of a listed file."""
    name = file.path.rpartition("/")[2]
    mime_type, encoding = guess_mime_type(name)
    return {
        "file_url": location.url(file.path),
        "file_name": name,
        "relative_path": file.path,
        "mime_type": mime_type,
        "encoding": encoding,
        "modification_date": datetime.fromtimestamp(file.modified // 1_000_000_000, UTC).replace(
            microsecond=file.modified // 1_000 % 1_000_000
        ),
        "size_in_bytes": file.size,
    }


def datetime_nanoseconds(moment: datetime) -> int:
    """Return the nanoseconds of a time since 1970.

    >>> datetime_nanoseconds(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005000
    """
    return (moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1_000


def guess_mime_type(name: str) -> tuple[str, str | None]:
    """Return the MIME type and the compression of a file by its name.

    >>> guess_mime_type("a.csv.gz"), guess_mime_type("a.jsonl"), guess_mime_type("README")
    (('text/csv', 'gzip'), ('application/jsonl', None), ('application/octet-stream', None))
    """
    guessed, encoding = mimetypes.guess_type(name)
    plain = name.rpartition(".")[0] if encoding else name
    listed = next((mime for end, mime in _MIME_TYPES.items() if plain.lower().endswith(end)), None)
    return listed or guessed or "application/octet-stream", encoding


def file_digest(url: str, file: ListedFile) -> bytes:
    """Return the identity of a file: a changed size or time makes it another file."""
    return item_digest(url, file.size, file.modified)
