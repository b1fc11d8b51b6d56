"""The log of a plain table: one small, numbered object for each commit, created by put-if-absent.

The files in the log are the table. Published files do not belong to it before their entry exists, and readers
see an entry once its load is complete.

The size of the log is bounded: a checkpoint lists all files of the table, and old entries before it are
deleted. The headers that are still needed of them are in `older`.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import DestinationAhead, DestinationTerminalException, PackageDamaged
from penstock.interfaces import TableCommit
from penstock.package.control_file import encode_control, read_control
from penstock.spark.file_format import FileCodec

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from penstock.interfaces import LoadMark
    from penstock.package.storage import FileStorage

LOG_FOLDER: Final = "_dlt_files"
DataFiles = dict[str, FileCodec]
"""Files by their keys: names below the folder of the dataset."""
_RECENT_HEADERS: Final = 50
_CHECKPOINT_INTERVAL: Final = 16
"""The entries at most that are read to list all files."""
_RETAINED_ENTRIES: Final = 100
_RETENTION_SECONDS: Final = 24 * 3600.0
"""Entries are retained for this many commits and this long: readers and undo need them."""
_MAX_UNDO_HEADERS: Final = 1000
_STORED_NAMES: Final = {"removed": "gone", "checkpoint": "whole", "tombstones": "buried"}
"""The fields of an entry that have other names in its object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHeader:
    """The header of a commit."""

    version: int
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    undoes: str | None = None
    replaces: bool = False

    def to_table_commit(self) -> TableCommit:
        """Return the commit as readers use it."""
        return TableCommit(
            version=self.version,
            load_id=self.load_id,
            pipeline_name=self.pipeline_name,
            undoes=self.undoes,
            replaces=self.replaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit: `append` adds files, `replace` replaces all files, `undo` lists the remaining ones."""

    kind: Literal["append", "replace", "undo"]
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    manifest_hash: str | None = None
    undoes: str | None = None
    rows: int | None = None
    files: DataFiles = field(default_factory=dict)
    adopted: DataFiles = field(default_factory=dict)
    """Replaced files of other writers."""
    removed: tuple[str, ...] = ()
    """Files to delete once the load is complete."""
    checkpoint: DataFiles | None = None
    """All files after this commit; None in entries without a checkpoint."""
    tombstones: tuple[str, ...] = ()
    """Files that earlier commits have replaced and that may still exist; only with a checkpoint."""
    version: int = 0
    recent: tuple[CommitHeader, ...] = ()
    """The headers of this commit and of those before it, newest first, so that one read lists them."""
    older: tuple[CommitHeader, ...] | None = None
    """Of the commits before `recent`: the newest one, the newest of each pipeline, and undone loads.

    None in an entry that an older release wrote.
    """

    @staticmethod
    def of_load(mark: LoadMark, **values: Any) -> LogEntry:
        """Return the commit of a load."""
        return LogEntry(
            load_id=mark.load_id,
            pipeline_name=mark.pipeline_name,
            sequence=mark.sequence,
            manifest_hash=mark.manifest_hash,
            **values,
        )

    @property
    def header(self) -> CommitHeader:
        """The header of the commit."""
        return CommitHeader(
            version=self.version,
            load_id=self.load_id,
            pipeline_name=self.pipeline_name,
            sequence=self.sequence,
            undoes=self.undoes,
            replaces=self.kind == "replace",
        )

    @property
    def known_files(self) -> frozenset[str]:
        """All files in the entry, whether or not they belong to the table."""
        checkpoint = self.checkpoint or ()
        return frozenset((*self.files, *self.adopted, *self.removed, *self.tombstones, *checkpoint))

    def files_after(self, previous: DataFiles) -> DataFiles:
        """Return the files after this commit."""
        if self.checkpoint is not None:
            return dict(self.checkpoint)
        return dict(self.files) if self.kind == "replace" else {**previous, **self.files}

    def to_json(self) -> bytes:
        """Return the content of the object."""
        values = asdict(self)
        for name in ("files", "adopted", "checkpoint"):
            files: DataFiles | None = getattr(self, name)
            values[name] = None if files is None else _group_by_codec(files)
        return encode_control({_STORED_NAMES.get(name, name): value for name, value in values.items()})

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LogEntry:
        """Read the output of `to_json`."""
        values = dict(document)
        for name, stored_name in _STORED_NAMES.items():
            values[name] = values.pop(stored_name)
        for name in ("files", "adopted", "checkpoint"):
            values[name] = None if values[name] is None else _ungroup_files(values[name])
        for name in ("removed", "tombstones"):
            values[name] = tuple(values[name])
        for name in ("recent", "older"):
            headers = values.get(name)
            values[name] = None if headers is None else tuple(CommitHeader(**header) for header in headers)
        return LogEntry(**values)


class TableLog:
    """The commits to one table."""

    def __init__(self, store: FileStorage, table: str) -> None:
        self._store, self._folder = store, f"{LOG_FOLDER}/{table}"
        self.table = table
        self.read = cache(self._read)  # entries are immutable

    def last_version(self) -> int:
        """Return the number of the newest commit; 0 if there is none."""
        return max(_versions(self._store.names(self._folder)), default=0)

    def find_version(self, version: int) -> LogEntry | None:
        """Return the commit with a number; None if it was deleted."""
        return self.read(version) if self._store.has_file(self._entry_name(version)) else None

    def has_all_entries(self) -> bool:
        """Return whether no commit was deleted."""
        return self._store.has_file(self._entry_name(1))

    def live_files(self, version: int) -> DataFiles:
        """Return the files of the table after a commit."""
        entries: list[LogEntry] = []
        for number in range(version, 0, -1):
            entries.append(self.read(number))
            if entries[-1].checkpoint is not None or entries[-1].kind == "replace":
                break
        files: DataFiles = {}
        for entry in reversed(entries):
            files = entry.files_after(files)
        return files

    def known_files(self, version: int) -> frozenset[str]:
        """Return all files in the entries back to the last checkpoint."""
        files: set[str] = set()
        for number in range(version, 0, -1):
            entry = self.read(number)
            files |= entry.known_files
            if entry.checkpoint is not None:
                break
        return frozenset(files)

    def adopted_files(self, *, after: int, last: int) -> DataFiles:
        """Return the files of other writers that later commits have replaced."""
        return {
            key: form
            for number in range(after + 1, last + 1)
            for key, form in self.read(number).adopted.items()
        }

    def has_commits(self) -> bool:
        """Return whether a load was ever committed; the entry of an aborted load alone is no commit."""
        return any(header.undoes is None for header in self.headers())

    def load_id_of_file(self, key: str) -> str | None:
        """Return the load that wrote a file."""
        for number in range(self.last_version(), 0, -1):
            entry = self.find_version(number)
            if entry is None or key in entry.files:
                return entry.load_id if entry else None
        return None

    def headers(self) -> Iterator[CommitHeader]:
        """Yield the headers of the commits, newest first; of deleted ones those that are still needed."""
        last = self.last_version()
        entry = self.read(last) if last else None
        while entry is not None:
            yield from entry.recent
            number = entry.recent[-1].version - 1
            previous = self.find_version(number) if number else None
            if number and previous is None:
                if entry.older is None:
                    self.read(number)  # a release without this field deleted no entry: raises
                yield from entry.older or ()
            entry = previous

    def find_load(self, load_id: str) -> LogEntry | None:
        """Return the commit of a load."""
        header = next((header for header in self.headers() if header.load_id == load_id), None)
        return self.read(header.version) if header else None

    def find_mark(self, mark: LoadMark) -> LogEntry | None:
        """Return the commit of a load; None if the table has none.

        Raise if the load was undone, or if another load of the pipeline has its sequence or a later one. The
        search ends at the previous load of the pipeline.
        """
        is_ahead = False
        for header in self.headers():
            if header.undoes == mark.load_id:
                raise DestinationTerminalException(
                    f"load {mark.load_id} was rolled back from table {self.table}",
                    hint="no action is needed: another run has aborted it",
                    table=self.table,
                )
            if header.pipeline_name == mark.pipeline_name and header.sequence is not None:
                entry = self.read(header.version) if header.load_id == mark.load_id else None
                if entry is not None and entry.manifest_hash == mark.manifest_hash:
                    return entry
                if header.sequence < mark.sequence:
                    break
                is_ahead = True
        if is_ahead:
            raise DestinationAhead(table=self.table, sequence=mark.sequence)
        return None

    def other_changes(self, version: int, own_loads: Container[str]) -> tuple[str, ...]:
        """Describe the commits after a version that are not of own loads, oldest first.

        Loads that were rolled back, with the commits that did it, change nothing.
        """
        headers = [header for header in self.headers() if header.version > version]
        undone = {header.undoes for header in headers}
        return tuple(
            f"commit {header.version} by {_writer_of(header)}"
            for header in reversed(headers)
            if header.undoes is None and header.load_id not in undone and header.load_id not in own_loads
        )

    def is_undone(self, load_id: str) -> bool:
        """Return whether a load was undone."""
        return any(header.undoes == load_id for header in self.headers())

    def commit(self, build_entry: Callable[[int], LogEntry | None]) -> LogEntry | None:
        """Add the entry that `build_entry` returns for the last version; None adds none.

        It is called again if another writer takes the number first.
        """
        while True:
            last = self.last_version()
            new_entry = build_entry(last)
            if new_entry is None:
                return None
            entry = self._finalize(new_entry, last)
            if not self._store.put_if_absent(self._entry_name(entry.version), entry.to_json()):
                continue
            # The number may be free because its entry was deleted while this process was suspended.
            if self.last_version() < entry.version + _RETAINED_ENTRIES:
                return self.read(entry.version)
            self._store.delete_file(self._entry_name(entry.version))

    def prune(self, complete_loads: Container[str]) -> list[str]:
        """Delete old entries, and return files that they have replaced and that may still exist.

        The first retained entry has a checkpoint. Commits of loads that may be incomplete are retained with
        the commit before them, which readers see and undo restores. Entries are deleted in ascending order,
        so that a crash leaves a log without gaps.
        """
        listed = {
            int(item.name[:-5]): item for item in self._store.entries(self._folder) if _versions([item.name])
        }
        last, first = max(listed, default=0), min(listed, default=0)
        newest = self.read(last) if last else None
        if newest is None or newest.older is None:
            return []
        limit = min(
            last - _RETAINED_ENTRIES,
            *(header.version - 1 for header in _incomplete_headers(newest, complete_loads)),
            last,
        )
        start = limit - limit % _CHECKPOINT_INTERVAL
        expiry = time.time() - _RETENTION_SECONDS
        if start not in listed or start <= first or listed[start].modified > expiry:
            return []
        live = self.live_files(last)
        replaced: dict[str, None] = {}
        for number in sorted(number for number in listed if number < start):
            replaced |= dict.fromkeys(key for key in self.read(number).removed if key not in live)
            self._store.delete_file(self._entry_name(number))
        return list(replaced)

    def drop(self) -> None:
        """Delete the log."""
        self._store.delete(self._folder)

    def _finalize(self, new_entry: LogEntry, last: int) -> LogEntry:
        previous = self.read(last) if last else None
        entry = replace(new_entry, version=last + 1)
        if entry.checkpoint is None and entry.version % _CHECKPOINT_INTERVAL == 0:
            entry = replace(entry, checkpoint=entry.files_after(self.live_files(last)))
        if entry.checkpoint is not None:
            entry = replace(entry, tombstones=self._tombstones(last))
        recent = (entry.header, *(previous.recent if previous else ()))
        older = self._older_headers(previous) if previous else ()
        for header in recent[_RECENT_HEADERS:]:
            older = _with_aged_header(older, header, recent)
        return replace(entry, recent=recent[:_RECENT_HEADERS], older=older)

    def _older_headers(self, entry: LogEntry) -> tuple[CommitHeader, ...]:
        if entry.older is not None:
            return entry.older
        older: tuple[CommitHeader, ...] = ()
        headers = list(self.headers())
        for header in reversed(headers[len(entry.recent) :]):
            older = _with_aged_header(older, header, headers)
        return older

    def _tombstones(self, last: int) -> tuple[str, ...]:
        """Return replaced files that may still exist; those of the last checkpoint only if they do."""
        tombstones: dict[str, None] = {}
        for number in range(last, 0, -1):
            entry = self.read(number)
            tombstones |= dict.fromkeys(entry.removed)
            if entry.checkpoint is not None:
                tombstones |= dict.fromkeys(key for key in entry.tombstones if self._store.exists(key))
                break
        return tuple(tombstones)

    def _entry_name(self, version: int) -> str:
        return f"{self._folder}/{version:010}.json"

    def _read(self, version: int) -> LogEntry:
        name = self._entry_name(version)
        document = read_control(self._store, name)
        if document is None:
            raise DestinationTerminalException(
                f"commit {version} of table {self.table} does not exist: it expired or was deleted by hand",
                hint="open the dataset again, or run again",
                table=self.table,
            )
        try:
            return LogEntry.from_dict(document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PackageDamaged(
                path=self._store.path(name), reason=f"{error} is missing or wrong in it"
            ) from error


def _writer_of(header: CommitHeader) -> str:
    return f"load {header.load_id} of {header.pipeline_name}" if header.load_id else "another writer"


def _versions(names: Iterable[str]) -> list[int]:
    stems = (name.removesuffix(".json") for name in names)
    return [int(stem) for stem in stems if stem.isdigit()]


def _with_aged_header(
    older: tuple[CommitHeader, ...], aged_header: CommitHeader, newer: Iterable[CommitHeader]
) -> tuple[CommitHeader, ...]:
    """Add a header that is not recent any more, and remove those that it supersedes."""
    undone = {header.undoes for header in (*newer, *older) if header.undoes is not None}
    supersedes = aged_header.load_id is not None and aged_header.load_id not in undone
    undoes = [header for header in older if header.undoes is not None][: _MAX_UNDO_HEADERS - 1]
    loads = [
        header
        for header in older
        if header.undoes is None
        and header.load_id is not None
        and header.load_id not in undone
        and not (supersedes and header.pipeline_name == aged_header.pipeline_name)
    ]
    return (aged_header, *sorted((*undoes, *loads), key=lambda header: -header.version))


def _incomplete_headers(newest: LogEntry, complete_loads: Container[str]) -> list[CommitHeader]:
    """Return the commits of incomplete loads. Of each pipeline only the last load can be incomplete."""
    headers = (*newest.recent, *(newest.older or ()))
    undone = {header.undoes for header in headers}
    last: dict[str | None, CommitHeader] = {}
    for header in headers:
        if header.load_id is not None and header.load_id not in undone:
            last.setdefault(header.pipeline_name, header)
    return [header for header in last.values() if header.load_id not in complete_loads]


def _group_by_codec(files: DataFiles) -> list[dict[str, Any]]:
    groups: dict[FileCodec, list[str]] = {}
    for key, form in files.items():
        groups.setdefault(form, []).append(key)
    return [{**asdict(form), "keys": keys} for form, keys in groups.items()]


def _ungroup_files(groups: list[dict[str, Any]]) -> DataFiles:
    return {
        key: FileCodec(group["format"], tuple(group["columns"])) for group in groups for key in group["keys"]
    }
