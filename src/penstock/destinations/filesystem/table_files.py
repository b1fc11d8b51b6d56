"""The files of a plain table: those that open loads publish, those in its log, and those of other writers.

The names of the files that Spark writes differ between attempts, so they do not show a process that resumes
after a crash what was to be published. So the list of files is stored by put-if-absent before the first of
them is published: every later attempt publishes the same list. Publishing a file twice changes nothing. dlt
writes no log, so files of its complete loads are found by their names.
"""

from __future__ import annotations

import csv
import gzip
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.destinations.filesystem.table_log import LOG_FOLDER, TableLog
from penstock.errors import DestinationTerminalException, DestinationTransientException, PackageDamaged
from penstock.package.control_file import encode_control, read_control
from penstock.spark.file_format import FileCodec, FileFormat, format_from_extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.destinations.filesystem.layout import FileLayout
    from penstock.destinations.filesystem.table_log import DataFiles
    from penstock.interfaces import Ledger, LoadSnapshot
    from penstock.package.storage import FileStorage

_MAX_THREADS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One file: its path in the package, its final key, and its size in bytes."""

    path: str
    key: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """The files that a load publishes for a table."""

    form: FileCodec
    files: tuple[PublishedFile, ...]
    rows: int | None

    def by_key(self) -> DataFiles:
        """Return the files by their final keys."""
        return {file.key: self.form for file in self.files}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the control file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> FileList:
        """Read the output of `to_dict`."""
        form = document["form"]
        return FileList(
            form=FileCodec(form["format"], tuple(form["columns"])),
            files=tuple(PublishedFile(**file) for file in document["files"]),
            rows=document["rows"],
        )


@dataclass(frozen=True, slots=True)
class FileLists:
    """The file lists of open loads, for one table."""

    store: FileStorage
    table: str

    def find(self, load_id: str) -> FileList | None:
        """Return the list of a load; None before it is recorded and after the load is complete."""
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
        """Record a list unless another process has, and return the one that was recorded first."""
        self.store.put_if_absent(self._name(load_id), encode_control(file_list.to_dict()))
        return self.find(load_id) or file_list

    def pending_keys(self) -> frozenset[str]:
        """Return the keys of the files of all open loads."""
        load_ids = [name.removesuffix(".json") for name in self.store.names(self._folder)]
        file_lists = [self.find(load_id) for load_id in load_ids]
        return frozenset(
            key for file_list in file_lists if file_list is not None for key in file_list.by_key()
        )

    def delete(self, load_id: str) -> None:
        """Delete the list of a load that is complete or undone."""
        self.store.delete(self._name(load_id))

    @property
    def _folder(self) -> str:
        return f"{LOG_FOLDER}/{self.table}/lists"

    def _name(self, load_id: str) -> str:
        return f"{self._folder}/{load_id}.json"


def publish_files(file_list: FileList, package: FileStorage, store: FileStorage) -> None:
    """Copy all files of a list to their final keys; files that exist are skipped."""

    def publish(file: PublishedFile) -> None:
        if _size(store, file.key) == file.bytes:
            return
        store.copy_from(package, file.path, file.key)
        size = _size(store, file.key)
        if size != file.bytes:
            raise DestinationTransientException(
                f"{store.path(file.key)} has {size} bytes, and {file.bytes} were written",
                hint="run again; if the error repeats, find what else writes there",
            )

    _for_each(file_list.files, publish, store)


def delete_files(keys: Iterable[str], store: FileStorage) -> None:
    """Delete those of the files that exist."""
    _for_each(keys, store.delete, store)


def _for_each(items: Iterable[Any], act: Callable[[Any], None], store: FileStorage) -> None:
    """Apply an action to each item: in order on a disk, in threads on a store with higher latency."""
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
    """The parts of a file name."""

    load_id: str | None
    format: FileFormat


@dataclass(frozen=True)
class TableFiles:
    """One table in its folder.

    Files of penstock belong to the table if its log has them. Other files belong to it if a complete load of
    a writer without a log wrote them.
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
        """The file lists of open loads."""
        return FileLists(self.store, self.table)

    @property
    def folder(self) -> str:
        """The folder with all files of the table; empty for that of the dataset."""
        return self.layout.prefix(self.schema_name, self.table).rpartition("/")[0]

    def list_files(self) -> dict[str, ParsedFileName]:
        """Return the existing files whose names match the layout. One listing."""
        return self._parse_names(self.store.tree(self.folder))

    def files(self, version: int | None = None) -> DataFiles:
        """Return the files of the table after a commit, or now, with those of other writers."""
        # Listed before the log is read: any file of penstock is then on a list or in the log.
        names = self.store.tree(self.folder)
        present = self._parse_names(names)
        pending = self.file_lists.pending_keys() if present else frozenset[str]()
        last = self.log.last_version()
        logged = self.logged_files(last if version is None else version, last)
        missing = self._missing_files(logged, frozenset(names))
        accounted = self.log.known_files(last) | pending
        foreign = {key: name for key, name in present.items() if key not in accounted}
        return {
            **{key: form for key, form in logged.items() if key not in missing},
            **self._complete_foreign_files(foreign),
        }

    def logged_files(self, version: int, last: int) -> DataFiles:
        """Return the files of the table after a commit, with those that later commits have adopted."""
        # Files of other writers that later commits have replaced existed at that version.
        return self.log.live_files(version) | self.log.adopted_files(after=version, last=last)

    def has_foreign_origin(self) -> bool:
        """Return whether a writer without a log began the table; an open load may replace its files."""
        if not self.log.has_all_entries():
            return False  # files from before the first commit are settled
        replaced = self.log.adopted_files(after=0, last=self.log.last_version())
        return bool(self.foreign_files()) or any(key in replaced for key in self.list_files())

    def foreign_files(self) -> DataFiles:
        """Return files of complete loads that are not in the log."""
        present = self.list_files()
        accounted = self.log.known_files(self.log.last_version()) | self.file_lists.pending_keys()
        return self._complete_foreign_files(
            {key: name for key, name in present.items() if key not in accounted}
        )

    def _parse_names(self, names: Iterable[str]) -> dict[str, ParsedFileName]:
        """Parse those of the names that match the layout."""
        pattern = self.layout.pattern(self.schema_name, self.table)
        parsed: dict[str, ParsedFileName] = {}
        for name in names:
            match = pattern.fullmatch(name)
            file_format = format_from_extension(match["ext"]) if match else None
            if match and file_format:
                parsed[name] = ParsedFileName(match.groupdict().get("load_id"), file_format)
        return parsed

    def _load_id_of(self, key: str) -> str:
        """Return the load id in the name of a file; empty if the layout has none."""
        return next((name.load_id or "" for name in self._parse_names([key]).values()), "")

    def _missing_files(self, logged: DataFiles, names: frozenset[str]) -> frozenset[str]:
        """Return files in the log that do not exist; raise unless another writer has replaced them."""
        candidates = [key for key in logged if key not in names]
        # Earlier loads may have had another layout, and a file may have been published since the listing.
        folders = {key.rpartition("/")[0] for key in candidates}
        present = {name for folder in folders for name in self.store.tree(folder)}
        missing = frozenset(key for key in candidates if key not in present)
        if missing and not self._was_replaced(missing):
            raise DestinationTerminalException(
                f"{len(missing)} files of table {self.table} do not exist, {min(missing)} among them",
                hint="open the dataset again; unless a load has replaced them, they were deleted by hand",
                table=self.table,
                missing=len(missing),
            )
        return missing

    def _complete_foreign_files(self, candidates: Mapping[str, ParsedFileName]) -> DataFiles:
        is_foreign = {load: self._is_foreign(load) for load in {name.load_id for name in candidates.values()}}
        return {
            key: self._codec(key, name.format) for key, name in candidates.items() if is_foreign[name.load_id]
        }

    def _codec(self, key: str, file_format: FileFormat) -> FileCodec:
        return FileCodec(file_format, read_csv_header(self.store, key) if file_format == "csv" else ())

    def _is_foreign(self, load_id: str | None) -> bool:
        """Return whether a load is complete and of a writer without a log; True without a load id."""
        if load_id is None:
            return True
        record = self._complete_loads.find(load_id)
        return record is not None and record.manifest_hash is None

    @cached_property
    def _complete_loads(self) -> LoadSnapshot:
        return self.ledger.snapshot()

    def _was_replaced(self, missing: Iterable[str]) -> bool:
        """Return whether a writer without a log has loaded since: dlt deletes the files that it replaces."""
        newest = max((self.log.load_id_of_file(key) or self._load_id_of(key) for key in missing), default="")
        later = (load.load_id for load in self._complete_loads.loads() if load.load_id > newest)
        return any(self._is_foreign(load_id) for load_id in later)


def read_csv_header(store: FileStorage, key: str) -> tuple[str, ...]:
    """Return the column names in the first line of a CSV file."""
    with store.open(key) as stream:
        if key.endswith(".gz"):
            with gzip.GzipFile(fileobj=stream) as unpacked:
                line = unpacked.readline()
        else:
            line = stream.readline()
    return tuple(next(csv.reader([line.decode("utf-8-sig")]), ()))
