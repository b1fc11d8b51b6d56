"""Brings the files of a load to their final names: which ones is written down before the first is there.

Spark gives its files a new name each time, so whoever goes on after a crash cannot tell from them what was to
be published. The list can: it is put if absent, and whoever comes later publishes what it says. The same file
under the same name changes nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.filesystem.file_format import FileCodec
from penstock.destinations.filesystem.table_log import LOG_FOLDER
from penstock.errors import DestinationTransientException, PackageDamaged
from penstock.package.control_file import encode_control, read_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.destinations.filesystem.table_log import DataFiles
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
