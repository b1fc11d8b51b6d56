"""The log of a plain table: one small object for each commit to it, numbered, put if absent.

A table is the files that its log says. What a load has put down beside them does not count before its entry
is there, and an entry counts for readers once its load is complete.

The log does not grow without end: an entry that has all files of the table in it makes those before it
unnecessary, and they are deleted when they are old. What is still to be known of them is in `older`.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.destinations.filesystem.file_format import FileCodec
from penstock.errors import DestinationAhead, DestinationTerminalException, PackageDamaged
from penstock.interfaces import TableCommit
from penstock.package.control_file import encode_control, read_control

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from penstock.interfaces import LoadMark
    from penstock.package.storage import FileStorage

LOG_FOLDER: Final = "_dlt_files"
DataFiles = dict[str, FileCodec]
"""Files by their keys: names below the folder of the dataset."""
_RECENT_HEADERS: Final = 50
_CHECKPOINT_INTERVAL: Final = 16
"""So many entries at most are read to know all files."""
_RETAINED_ENTRIES: Final = 100
_RETENTION_SECONDS: Final = 24 * 3600.0
"""Entries stay for as many commits and for as long: readers and loads that are taken back need them."""
_MAX_UNDO_HEADERS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHeader:
    """A commit in short."""

    version: int
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    undoes: str | None = None
    replaces: bool = False

    def to_table_commit(self) -> TableCommit:
        """As readers want it."""
        return TableCommit(
            version=self.version,
            load_id=self.load_id,
            pipeline_name=self.pipeline_name,
            undoes=self.undoes,
            replaces=self.replaces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit: `append` adds files, `replace` puts them in the place of all, `undo` says what is left."""

    kind: Literal["append", "replace", "undo"]
    load_id: str | None = None
    pipeline_name: str | None = None
    sequence: int | None = None
    manifest_hash: str | None = None
    undoes: str | None = None
    rows: int | None = None
    files: DataFiles = field(default_factory=dict)
    adopted: DataFiles = field(default_factory=dict)
    """Files of others among those that are replaced."""
    gone: tuple[str, ...] = ()
    """Files to be deleted once the load is complete."""
    whole: DataFiles | None = None
    """All files after this commit, where somebody has put them together."""
    buried: tuple[str, ...] = ()
    """Files that commits before have replaced and that may still be there; told together with the whole."""
    version: int = 0
    recent: tuple[CommitHeader, ...] = ()
    """This commit and those before it, newest first: one look tells them."""
    older: tuple[CommitHeader, ...] | None = None
    """Of the commits before those: the one next to them, the newest of each pipeline, and what was undone.

    None in an entry that an older release wrote.
    """

    @staticmethod
    def of_load(mark: LoadMark, **values: Any) -> LogEntry:
        """The commit of a load."""
        return LogEntry(
            load_id=mark.load_id,
            pipeline_name=mark.pipeline_name,
            sequence=mark.sequence,
            manifest_hash=mark.manifest_hash,
            **values,
        )

    @property
    def header(self) -> CommitHeader:
        """The commit in short."""
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
        """All files that it knows of, in the table or not."""
        return frozenset((*self.files, *self.adopted, *self.gone, *self.buried, *(self.whole or ())))

    def files_after(self, before: DataFiles) -> DataFiles:
        """The files after this commit."""
        if self.whole is not None:
            return dict(self.whole)
        return dict(self.files) if self.kind == "replace" else {**before, **self.files}

    def to_json(self) -> bytes:
        """The content of the object."""
        document = asdict(self)
        for name in ("files", "adopted", "whole"):
            found: DataFiles | None = getattr(self, name)
            document[name] = None if found is None else _group_by_codec(found)
        return encode_control(document)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LogEntry:
        """Read what `to_json` wrote."""
        said = {
            **document,
            "files": _ungroup_files(document["files"]),
            "adopted": _ungroup_files(document["adopted"]),
        }
        said["whole"] = None if document["whole"] is None else _ungroup_files(document["whole"])
        said["gone"], said["buried"] = tuple(document["gone"]), tuple(document["buried"])
        said["recent"] = tuple(CommitHeader(**one) for one in document["recent"])
        older = document.get("older")
        said["older"] = None if older is None else tuple(CommitHeader(**one) for one in older)
        return LogEntry(**said)


class TableLog:
    """The commits to one table."""

    def __init__(self, store: FileStorage, table: str) -> None:
        self._store, self._folder = store, f"{LOG_FOLDER}/{table}"
        self.table = table
        self.read = cache(self._read)  # what is there once never changes

    def last_version(self) -> int:
        """The number of the newest commit; 0 where there is none."""
        return max(_versions(self._store.names(self._folder)), default=0)

    def find_version(self, version: int) -> LogEntry | None:
        """The commit of a number; None when it is too old and was deleted."""
        return self.read(version) if self._store.exists(self._entry_name(version)) else None

    def has_all_entries(self) -> bool:
        """Whether no commit was deleted."""
        return self._store.exists(self._entry_name(1))

    def live_files(self, version: int) -> DataFiles:
        """The files of the table after a commit."""
        entries: list[LogEntry] = []
        for number in range(version, 0, -1):
            entries.append(self.read(number))
            if entries[-1].whole is not None or entries[-1].kind == "replace":
                break
        found: DataFiles = {}
        for entry in reversed(entries):
            found = entry.files_after(found)
        return found

    def known_files(self, version: int) -> frozenset[str]:
        """All files that the newest commits know of, back to one that knows the whole table."""
        found: set[str] = set()
        for number in range(version, 0, -1):
            entry = self.read(number)
            found |= entry.known_files
            if entry.whole is not None:
                break
        return frozenset(found)

    def adopted_files(self, *, after: int, last: int) -> DataFiles:
        """Files of others that commits after one have found in the table."""
        return {
            key: form
            for number in range(after + 1, last + 1)
            for key, form in self.read(number).adopted.items()
        }

    def has_commits(self) -> bool:
        """Whether a load was ever committed; a load that was only kept from it makes no table."""
        return any(one.undoes is None for one in self.headers())

    def load_id_of_file(self, key: str) -> str | None:
        """The load that brought a file."""
        for number in range(self.last_version(), 0, -1):
            entry = self.find_version(number)
            if entry is None or key in entry.files:
                return entry.load_id if entry else None
        return None

    def headers(self) -> Iterator[CommitHeader]:
        """The commits in short, newest first; of those that were deleted, what is still to be known."""
        last = self.last_version()
        entry = self.read(last) if last else None
        while entry is not None:
            yield from entry.recent
            number = entry.recent[-1].version - 1
            before = self.find_version(number) if number else None
            if number and before is None:
                if entry.older is None:
                    self.read(number)  # nothing was deleted by a release that wrote no such field
                yield from entry.older or ()
            entry = before

    def find_load(self, load_id: str) -> LogEntry | None:
        """The commit of a load."""
        found = next((one for one in self.headers() if one.load_id == load_id), None)
        return self.read(found.version) if found else None

    def find_mark(self, mark: LoadMark) -> LogEntry | None:
        """The commit of a load; looked for no further back than the loads of its pipeline before it.

        A load that was taken back is never committed: whoever is late with it is told. So is a load whose
        number, or a later one, another load has used.
        """
        is_ahead = False
        for one in self.headers():
            if one.undoes == mark.load_id:
                raise DestinationTerminalException(
                    f"load {mark.load_id} was rolled back from table {self.table}",
                    hint="nothing is left to do: another run has given it up",
                    table=self.table,
                )
            if one.pipeline_name == mark.pipeline_name and one.sequence is not None:
                if one.load_id == mark.load_id and self.read(one.version).manifest_hash == mark.manifest_hash:
                    return self.read(one.version)
                if one.sequence < mark.sequence:
                    break
                is_ahead = True
        if is_ahead:
            raise DestinationAhead(table=self.table, sequence=mark.sequence)
        return None

    def is_undone(self, load_id: str) -> bool:
        """Whether a load was taken back."""
        return any(one.undoes == load_id for one in self.headers())

    def commit(self, build_entry: Callable[[int], LogEntry | None]) -> LogEntry | None:
        """Add an entry that is made for the table after a given commit; None makes none.

        Whoever comes second with one number looks again: what the other one did may be the same.
        """
        while True:
            last = self.last_version()
            made = build_entry(last)
            if made is None:
                return None
            entry = self._finalize(made, last)
            if not self._store.put_if_absent(self._entry_name(entry.version), entry.to_json()):
                continue
            # The number may be free because its commit was deleted while this process slept.
            if self.last_version() < entry.version + _RETAINED_ENTRIES:
                return self.read(entry.version)
            self._store.delete(self._entry_name(entry.version))

    def prune(self, complete_loads: Container[str]) -> list[str]:
        """Delete old entries, and return files that they have replaced and that may still be there.

        What stays begins with an entry that has all files in it. Commits of loads that may not be complete
        stay with the one before them: readers see that one, and undo goes back to it. The lowest number goes
        first, so a process that dies leaves a log without gaps.
        """
        listed = {
            int(one.name[:-5]): one for one in self._store.entries(self._folder) if _versions([one.name])
        }
        last, first = max(listed, default=0), min(listed, default=0)
        newest = self.read(last) if last else None
        if newest is None or newest.older is None:
            return []
        limit = min(
            last - _RETAINED_ENTRIES,
            *(one.version - 1 for one in _incomplete_headers(newest, complete_loads)),
            last,
        )
        start = limit - limit % _CHECKPOINT_INTERVAL
        too_young = time.time() - _RETENTION_SECONDS
        if start not in listed or start <= first or listed[start].modified > too_young:
            return []
        alive = self.live_files(last)
        replaced: dict[str, None] = {}
        for number in sorted(one for one in listed if one < start):
            replaced |= dict.fromkeys(key for key in self.read(number).gone if key not in alive)
            self._store.delete(self._entry_name(number))
        return list(replaced)

    def drop(self) -> None:
        """Forget the table."""
        self._store.delete(self._folder)

    def _finalize(self, new_entry: LogEntry, last: int) -> LogEntry:
        before = self.read(last) if last else None
        entry = replace(new_entry, version=last + 1)
        if entry.whole is None and entry.version % _CHECKPOINT_INTERVAL == 0:
            entry = replace(entry, whole=entry.files_after(self.live_files(last)))
        if entry.whole is not None:
            entry = replace(entry, buried=self._tombstones(last))
        recent = (entry.header, *(before.recent if before else ()))
        older = self._older_headers(before) if before else ()
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
        """Files that are replaced and may be there: of older ones only those that are."""
        found: dict[str, None] = {}
        for number in range(last, 0, -1):
            entry = self.read(number)
            found |= dict.fromkeys(entry.gone)
            if entry.whole is not None:
                found |= dict.fromkeys(key for key in entry.buried if self._store.exists(key))
                break
        return tuple(found)

    def _entry_name(self, version: int) -> str:
        return f"{self._folder}/{version:010}.json"

    def _read(self, version: int) -> LogEntry:
        name = self._entry_name(version)
        document = read_control(self._store, name)
        if document is None:
            raise DestinationTerminalException(
                f"commit {version} of table {self.table} is not there: it was deleted as too old, or by hand",
                hint="open the dataset again, or run again",
                table=self.table,
            )
        try:
            return LogEntry.from_dict(document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PackageDamaged(
                path=self._store.path(name), reason=f"{error} is missing or wrong in it"
            ) from error


def _versions(names: Iterable[str]) -> list[int]:
    stems = (name.removesuffix(".json") for name in names)
    return [int(stem) for stem in stems if stem.isdigit()]


def _with_aged_header(
    older: tuple[CommitHeader, ...], header: CommitHeader, newer: Iterable[CommitHeader]
) -> tuple[CommitHeader, ...]:
    """Add the commit that is not among the recent ones any more, and drop what it makes unnecessary."""
    undone = {one.undoes for one in (*newer, *older) if one.undoes is not None}
    takes_over = header.load_id is not None and header.load_id not in undone
    undoes = [one for one in older if one.undoes is not None][: _MAX_UNDO_HEADERS - 1]
    loads = [
        one
        for one in older
        if one.undoes is None
        and one.load_id is not None
        and one.load_id not in undone
        and not (takes_over and one.pipeline_name == header.pipeline_name)
    ]
    return (header, *sorted((*undoes, *loads), key=lambda one: -one.version))


def _incomplete_headers(newest: LogEntry, complete_loads: Container[str]) -> list[CommitHeader]:
    """Return the commits of loads that are not complete. A pipeline is through with loads before its last."""
    headers = (*newest.recent, *(newest.older or ()))
    undone = {one.undoes for one in headers}
    last: dict[str | None, CommitHeader] = {}
    for one in headers:
        if one.load_id is not None and one.load_id not in undone:
            last.setdefault(one.pipeline_name, one)
    return [one for one in last.values() if one.load_id not in complete_loads]


def _group_by_codec(files: DataFiles) -> list[dict[str, Any]]:
    groups: dict[FileCodec, list[str]] = {}
    for key, form in files.items():
        groups.setdefault(form, []).append(key)
    return [{**asdict(form), "keys": keys} for form, keys in groups.items()]


def _ungroup_files(groups: list[dict[str, Any]]) -> DataFiles:
    return {
        key: FileCodec(group["format"], tuple(group["columns"])) for group in groups for key in group["keys"]
    }
