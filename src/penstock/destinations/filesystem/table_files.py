"""The files of a table as they stand in its folder, and which of them are others': dlt writes no log."""

from __future__ import annotations

import csv
import gzip
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.destinations.filesystem.file_format import FileCodec, FileFormat, format_from_extension
from penstock.destinations.filesystem.table_log import LOG_FOLDER, TableLog
from penstock.errors import DestinationTerminalException, DestinationTransientException, PackageDamaged
from penstock.package.control_file import encode_control, read_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.destinations.filesystem.layout import FileLayout
    from penstock.destinations.filesystem.table_log import DataFiles
    from penstock.interfaces import Ledger, LoadSnapshot
    from penstock.package.storage import FileStorage


_MAX_THREADS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One file: where it stands in the package, what it is called at the end, and its bytes."""

    path: str
    key: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """The files that a load brings for a table."""

    form: FileCodec
    files: tuple[PublishedFile, ...]
    rows: int | None

    def by_key(self) -> DataFiles:
        """The files by their final names."""
        return {one.key: self.form for one in self.files}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the control file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> FileList:
        """Read what `to_dict` gave."""
        form = document["form"]
        return FileList(
            form=FileCodec(form["format"], tuple(form["columns"])),
            files=tuple(PublishedFile(**one) for one in document["files"]),
            rows=document["rows"],
        )


@dataclass(frozen=True, slots=True)
class FileLists:
    """The lists of loads that are under way, for one table."""

    store: FileStorage
    table: str

    def find(self, load_id: str) -> FileList | None:
        """The list of a load; None while nobody has written it down, and once its load is complete."""
        name = self._name(load_id)
        document = read_control(self.store, name)
        if document is None:
            return None
        try:
            return FileList.from_dict(document)
        except (KeyError, TypeError, ValueError) as error:
            raise PackageDamaged(
                path=self.store.path(name), reason=f"{error} is missing or wrong in it"
            ) from error

    def record(self, load_id: str, file_list: FileList) -> FileList:
        """Write it down, unless somebody has; gives what counts."""
        self.store.put_if_absent(self._name(load_id), encode_control(file_list.to_dict()))
        return self.find(load_id) or file_list

    def pending_keys(self) -> frozenset[str]:
        """The files of all loads that are under way."""
        loads = [name.removesuffix(".json") for name in self.store.names(self._folder)]
        found = [self.find(load) for load in loads]
        return frozenset(key for one in found if one is not None for key in one.by_key())

    def delete(self, load_id: str) -> None:
        """The load is complete, or taken back."""
        self.store.delete(self._name(load_id))

    @property
    def _folder(self) -> str:
        return f"{LOG_FOLDER}/{self.table}/lists"

    def _name(self, load_id: str) -> str:
        return f"{self._folder}/{load_id}.json"


def publish_files(file_list: FileList, package: FileStorage, store: FileStorage) -> None:
    """Bring all files of a list to their names; those that are there stay."""

    def bring(file: PublishedFile) -> None:
        if _size(store, file.key) == file.bytes:
            return
        store.copy_from(package, file.path, file.key)
        found = _size(store, file.key)
        if found != file.bytes:
            raise DestinationTransientException(
                f"{store.path(file.key)} has {found} bytes, and {file.bytes} were written",
                hint="run again; if it comes again, look at what else writes there",
            )

    _for_each(file_list.files, bring, store)


def delete_files(keys: Iterable[str], store: FileStorage) -> None:
    """Delete files; what is gone is no error."""
    _for_each(keys, store.delete, store)


def _for_each(items: Iterable[Any], act: Callable[[Any], None], store: FileStorage) -> None:
    """On a disk one by one, elsewhere many at a time: there an answer takes longer than the work."""
    if store.is_local:
        for item in items:
            act(item)
        return
    with ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="penstock-files") as threads:
        list(threads.map(act, items))


def _size(store: FileStorage, key: str) -> int | None:
    try:
        return store.size(key)
    except FileNotFoundError:
        return None


class ParsedFileName(NamedTuple):
    """What the name of a file tells."""

    load_id: str | None
    format: FileFormat


@dataclass(frozen=True)
class TableFiles:
    """One table in its folder.

    Files that are in the log are what the log says. Others count if a load of somebody who keeps no log has
    brought them, and that load is complete. Files of ours that are not in the log yet never do.
    """

    store: FileStorage
    ledger: Ledger
    layout: FileLayout
    schema_name: str
    table: str

    @cached_property
    def log(self) -> TableLog:
        """The commits to the table."""
        return TableLog(self.store, self.table)

    @cached_property
    def file_lists(self) -> FileLists:
        """The files of loads that are under way."""
        return FileLists(self.store, self.table)

    @property
    def folder(self) -> str:
        """The folder that has all files of the table in it; empty for that of the dataset."""
        return self.layout.prefix(self.schema_name, self.table).rpartition("/")[0]

    def list_files(self) -> dict[str, ParsedFileName]:
        """The files that are there by the names of the layout. One listing."""
        return self._parse_names(self.store.tree(self.folder))

    def files(self, version: int | None = None) -> DataFiles:
        """The files of the table after a commit, or as they are, with those of others."""
        # Before the log: a file of ours that is seen here is on a list, or in the log by the time it is read.
        names = self.store.tree(self.folder)
        present = self._parse_names(names)
        pending = self.file_lists.pending_keys() if present else frozenset[str]()
        last = self.log.last_version()
        ours = self.log.live_files(last if version is None else version)
        if version is not None:
            # What later commits have replaced was there.
            ours |= self.log.adopted_files(after=version, last=last)
        gone = self._missing_files(ours, frozenset(names))
        known = self.log.known_files(last) | pending
        strangers = {key: told for key, told in present.items() if key not in known}
        return {
            **{key: form for key, form in ours.items() if key not in gone},
            **self._complete_foreign_files(strangers),
        }

    def has_foreign_origin(self) -> bool:
        """Whether files are there of somebody who keeps no log; an open load may be about to replace them."""
        if not self.log.has_all_entries():
            return False  # what was there before the first commit is settled
        replaced = self.log.adopted_files(after=0, last=self.log.last_version())
        return bool(self.foreign_files()) or any(key in replaced for key in self.list_files())

    def foreign_files(self) -> DataFiles:
        """Files of complete loads that are not in the log."""
        present = self.list_files()
        known = self.log.known_files(self.log.last_version()) | self.file_lists.pending_keys()
        return self._complete_foreign_files({key: told for key, told in present.items() if key not in known})

    def _parse_names(self, names: Iterable[str]) -> dict[str, ParsedFileName]:
        """Those of the files that the layout knows, and what their names tell."""
        pattern = self.layout.pattern(self.schema_name, self.table)
        found: dict[str, ParsedFileName] = {}
        for name in names:
            match = pattern.fullmatch(name)
            kind = format_from_extension(match["ext"]) if match else None
            if match and kind:
                found[name] = ParsedFileName(match.groupdict().get("load_id"), kind)
        return found

    def _load_id_of(self, key: str) -> str:
        """Return the load that a file is named after; empty where the layout does not say."""
        return next((told.load_id or "" for told in self._parse_names([key]).values()), "")

    def _missing_files(self, ours: DataFiles, names: frozenset[str]) -> frozenset[str]:
        """Files that the log knows and that are not there. An error, unless others have replaced them."""
        missing = [key for key in ours if key not in names]
        # Loads before may have had another layout, and a file may have come since the first look.
        there = {
            name for folder in {key.rpartition("/")[0] for key in missing} for name in self.store.tree(folder)
        }
        gone = frozenset(key for key in missing if key not in there)
        if gone and not self._was_replaced(gone):
            raise DestinationTerminalException(
                f"{len(gone)} files of table {self.table} are gone, {min(gone)} among them",
                hint="open the dataset again; if they were not replaced meanwhile, somebody has deleted them",
                table=self.table,
                missing=len(gone),
            )
        return gone

    def _complete_foreign_files(self, candidates: Mapping[str, ParsedFileName]) -> DataFiles:
        theirs = {load: self._is_foreign(load) for load in {told.load_id for told in candidates.values()}}
        return {
            key: self._codec(key, told.format) for key, told in candidates.items() if theirs[told.load_id]
        }

    def _codec(self, key: str, kind: FileFormat) -> FileCodec:
        return FileCodec(kind, read_csv_header(self.store, key) if kind == "csv" else ())

    def _is_foreign(self, load_id: str | None) -> bool:
        """Whether a complete load is of somebody who keeps no log; a name without a load tells nothing."""
        if load_id is None:
            return True
        record = self._complete_loads.find(load_id)
        return record is not None and record.manifest_hash is None

    @cached_property
    def _complete_loads(self) -> LoadSnapshot:
        return self.ledger.snapshot()

    def _was_replaced(self, gone: Iterable[str]) -> bool:
        """Whether somebody without a log has loaded since: dlt deletes the files of a table it replaces."""
        newest = max((self.log.load_id_of_file(key) or self._load_id_of(key) for key in gone), default="")
        later = (load.load_id for load in self._complete_loads.loads() if load.load_id > newest)
        return any(self._is_foreign(load_id) for load_id in later)


def read_csv_header(store: FileStorage, key: str) -> tuple[str, ...]:
    """The names in the first line."""
    with store.open(key) as stream:
        if key.endswith(".gz"):
            with gzip.GzipFile(fileobj=stream) as unpacked:
                line = unpacked.readline()
        else:
            line = stream.readline()
    return tuple(next(csv.reader([line.decode("utf-8-sig")]), ()))
