"""Files as rows, in dlt's form, and what else is known of them."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypedDict

from penstock.interfaces.seen_set import item_digest

if TYPE_CHECKING:
    from penstock.sources.filesystem.location import FolderLocation

_MIME_TYPES: dict[str, str] = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".json": "application/json",
    ".parquet": "application/parquet",
}


class FileItem(TypedDict, total=False):
    """What a listing says of a file."""

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
    """A file as a row, that can be opened."""

    def __init__(self, found: ListedFile, place: FolderLocation) -> None:
        name = found.path.rpartition("/")[2]
        mime_type, encoding = guess_mime_type(name)
        item: FileItem = {
            "file_url": place.url(found.path),
            "file_name": name,
            "relative_path": found.path,
            "mime_type": mime_type,
            "encoding": encoding,
            "modification_date": datetime.fromtimestamp(found.modified // 1_000_000_000, UTC).replace(
                microsecond=found.modified // 1_000 % 1_000_000
            ),
            "size_in_bytes": found.size,
        }
        super().__init__(item)
        self.found, self.place = found, place

    @property
    def fsspec(self) -> Any:
        """The file system that it stands in."""
        return self.place.file_system

    @property
    def local_file_path(self) -> str:
        """Where it stands on this machine."""
        return str(Path(self.place.fs_path(self.found.path)))

    def open(
        self,
        mode: str = "rb",
        compression: Literal["auto", "disable", "enable"] = "auto",
        **kwargs: Any,
    ) -> IO[Any]:
        """Open it; gzip is undone where its name says so, unless `compression` says otherwise."""
        is_packed = compression == "enable" or (compression == "auto" and self["encoding"] == "gzip")
        stream: IO[Any] = self.fsspec.open(
            self.place.fs_path(self.found.path),
            mode=mode,
            compression="gzip" if is_packed else None,
            **kwargs,
        )
        return stream

    def read_bytes(self) -> bytes:
        """Its content, as it stands there."""
        kept: bytes | None = self.get("file_content")
        return self.place.read_bytes(self.found.path) if kept is None else kept


def guess_mime_type(name: str) -> tuple[str, str | None]:
    """The type of a file and how it is packed, by its name.

    >>> guess_mime_type("a.csv.gz"), guess_mime_type("a.jsonl"), guess_mime_type("README")
    (('text/csv', 'gzip'), ('application/jsonl', None), ('application/octet-stream', None))
    """
    guessed, encoding = mimetypes.guess_type(name)
    plain = name.rpartition(".")[0] if encoding else name
    known = next((mime for end, mime in _MIME_TYPES.items() if plain.lower().endswith(end)), None)
    return known or guessed or "application/octet-stream", encoding


def file_digest(url: str, file: ListedFile) -> bytes:
    """What a file is known by: a file with another size or another time is another file."""
    return item_digest(url, file.size, file.modified)
