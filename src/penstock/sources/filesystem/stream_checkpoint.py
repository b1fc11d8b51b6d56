"""The files that a query of Structured Streaming has read, by the log of its file source."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from penstock.errors import UsageError
from penstock.sources.filesystem.items import file_digest
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.plan import is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.package import FileStorage
    from penstock.sources.filesystem.globs import Glob
    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation

_VERSION: Final = "v1"
_COMPACT: Final = ".compact"
_NO_OFFSET: Final = "-"
_SCHEMES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "az": "abfs"}
_MILLISECOND_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedFiles:
    """The files of a folder, as the committed batches of a query have read them or not."""

    read: tuple[ListedFile, ...]
    """Files that were read, and are unchanged since."""
    changed: tuple[ListedFile, ...]
    """Files that were read, and have another time now."""
    unread: tuple[ListedFile, ...]
    """Files that are not in the log."""
    deleted: int
    """How many files of the log do not exist any more, or do not match the glob."""
    location: FolderLocation

    @property
    def older_unread(self) -> tuple[ListedFile, ...]:
        """Unread files that are older than the newest one that was read: the query has left them out."""
        newest = max((file.modified for file in self.read), default=0)
        return tuple(file for file in self.unread if file.modified < newest)

    def digests(self, files: tuple[ListedFile, ...]) -> Iterator[bytes]:
        """Yield the identities of files, as the source `files` stores them."""
        return (file_digest(self.location.url(file.path), file) for file in files)


def streamed_files(checkpoint: FileStorage, location: FolderLocation, glob: Glob) -> StreamedFiles:
    """Return the files that match a glob, compared with the log of a checkpoint.

    A batch that is not committed raises `UsageError`: its rows may be in the table or not.
    """
    times = read_log(checkpoint)
    read: list[ListedFile] = []
    changed: list[ListedFile] = []
    unread: list[ListedFile] = []
    for file in list_files(location, glob):
        time = times.pop(_listed_address(location, file), None)
        if time is not None:
            (read if _is_unchanged(file, time) else changed).append(file)
        elif not is_hidden(file.path):
            unread.append(file)
    return StreamedFiles(
        read=tuple(read),
        changed=tuple(changed),
        unread=tuple(unread),
        deleted=len(times),
        location=location,
    )


def read_log(checkpoint: FileStorage) -> dict[str, int]:
    """Return the addresses of the files that committed batches have read, with times in milliseconds."""
    sources = checkpoint.names("sources")
    if sources != ["0"]:
        raise UsageError(
            f"{checkpoint.root} has the logs of {len(sources)} sources in its folder sources",
            hint="name the folder of checkpointLocation, of a query with one source, which reads files",
        )
    last = _last_committed_offset(checkpoint)
    times: dict[str, int] = {}
    uncommitted = 0
    for name in checkpoint.names("sources/0"):
        if not name.removesuffix(_COMPACT).isdigit():
            continue
        for entry in _log_entries(checkpoint, f"sources/0/{name}"):
            if entry["batchId"] > last:
                uncommitted += 1
            else:
                times[_address(unquote(entry["path"]))] = int(entry["timestamp"])
    if uncommitted:
        raise UsageError(
            f"the last batch of {checkpoint.root} (files: {uncommitted:,}) is not committed: its rows may be "
            "in the table or not",
            hint="start the query with the trigger availableNow, and adopt the table when it has ended",
        )
    return times


def _last_committed_offset(checkpoint: FileStorage) -> int:
    """Return the last batch of the log that a committed batch of the query has read; -1 without any."""
    batches = [int(name) for name in checkpoint.names("commits") if name.isdigit()]
    if not batches:
        return -1
    path = f"offsets/{max(batches)}"
    lines = _lines(checkpoint, path)
    # The version, the metadata of the batch, and an offset for each source.
    if len(lines) != 3:  # noqa: PLR2004 - as above
        raise _unknown_format(checkpoint, path)
    if lines[2] == _NO_OFFSET:
        return -1
    offset = _decode(checkpoint, path, lines[2])
    if "logOffset" not in offset:
        raise _unknown_format(checkpoint, path)
    return int(offset["logOffset"])


def _log_entries(checkpoint: FileStorage, path: str) -> Iterator[Mapping[str, Any]]:
    for line in _lines(checkpoint, path)[1:]:
        entry = _decode(checkpoint, path, line)
        if not {"path", "timestamp", "batchId"} <= entry.keys():
            raise _unknown_format(checkpoint, path)
        yield entry


def _lines(checkpoint: FileStorage, path: str) -> list[str]:
    """Return the lines of a file of the checkpoint; raise for another version of it."""
    content = checkpoint.read(path)
    lines = [] if content is None else content.decode("utf-8", "replace").splitlines()
    if lines[:1] != [_VERSION]:
        raise _unknown_format(checkpoint, path)
    return lines


def _decode(checkpoint: FileStorage, path: str, line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise _unknown_format(checkpoint, path) from error
    if not isinstance(document, dict):
        raise _unknown_format(checkpoint, path)
    return document


def _unknown_format(checkpoint: FileStorage, path: str) -> UsageError:
    return UsageError(
        f"{checkpoint.path(path)} is not a file that a file source of Structured Streaming writes",
        hint="only checkpoints of queries that read files (spark.readStream.csv and others) can be adopted",
    )


def _listed_address(location: FolderLocation, file: ListedFile) -> str:
    return _address(location.fs_path(file.path) if location.is_local else location.url(file.path))


def _address(url: str) -> str:
    """Return the address of a file without encoding, with one name for each scheme.

    >>> _address("file:///raw/a.csv"), _address("s3a://raw/a.csv")
    ('/raw/a.csv', 's3://raw/a.csv')
    """
    if url.startswith("file:"):
        return "/" + url.removeprefix("file:").lstrip("/")
    scheme, separator, rest = url.partition("://")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}" if separator else url


def _is_unchanged(file: ListedFile, time: int) -> bool:
    """Return whether a file has the time of the log; some file systems of Hadoop have only seconds."""
    actual = file.modified // _MILLISECOND_NS
    return time in {actual, actual // 1000 * 1000}
