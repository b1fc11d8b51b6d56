"""The description of a folder of data files: their number, size and digest."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.errors import UnsafePath
from penstock.package.storage import safe_name
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.storage import FileStorage

DRIVER_FILE: Final = "part-00000.parquet"
"""The file of a folder that the driver writes."""
_FOOTER_THREADS: Final = 16
_LANE_DIGITS: Final = 15
_LANE_COUNT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """A folder of data files.

    `path` is relative to the package and contains the attempt that wrote it. `digest` is a hash over the
    names and sizes of the files. Unknown counts are None.
    """

    path: str
    files: int | None = None
    bytes: int | None = None
    digest: str | None = None

    @staticmethod
    def described(path: str, sizes: Mapping[str, int]) -> DataFolder:
        """Describe a folder by the names and sizes of its files."""
        return DataFolder(path=path, files=len(sizes), bytes=sum(sizes.values()), digest=_digest(sizes))

    def find_mismatch(self, sizes: Mapping[str, int]) -> str | None:
        """Return how files, with their sizes by name, differ from the description; None if they match.

        Hidden and empty files are ignored, as Spark ignores them.
        """
        if self.digest is None:
            return None
        files = data_files(sizes)
        if len(files) != self.files:
            return f"it has {len(files)} data files, but {self.files} were written"
        size = sum(files.values())
        if size != self.bytes:
            return f"its data files have {size} bytes, but {self.bytes} were written"
        if _digest(files) != self.digest:
            return "its data files have other names or sizes than the written ones"
        return None

    def list_files(self, store: FileStorage) -> dict[str, int]:
        """Return the sizes of the data files by name, without a request if the driver wrote the only file."""
        if self.files == 1 and self.bytes is not None:
            written = {DRIVER_FILE: self.bytes}
            if _digest(written) == self.digest:
                return written
        return data_files(store.sizes(self.path))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for control files."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> DataFolder:
        """Read a document of `to_dict`; a path that leaves the package is a `ValueError`."""
        folder = validate_fields(DataFolder(**document))
        try:
            safe_name(folder.path)
        except UnsafePath as error:
            raise ValueError(error.message) from error
        return folder


def list_folders(store: FileStorage, paths: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the sizes of the files in each folder by name, with one listing for all folders of a parent."""
    folders: dict[str, dict[str, int]] = {path: {} for path in paths}
    for parent in dict.fromkeys(path.rpartition("/")[0] for path in folders):
        for path, size in store.sizes(parent).items():
            folder, _, name = f"{parent}/{path}".rpartition("/")
            if folder in folders:
                folders[folder][name] = size
    return folders


def count_rows(store: FileStorage, names: Sequence[str]) -> int:
    """Return the sum of the row counts in the footers of files, read in threads because storage is slow."""

    def count(name: str) -> int:
        with store.open(name) as stream:
            return int(pq.read_metadata(stream).num_rows)

    with ThreadPoolExecutor(_FOOTER_THREADS, thread_name_prefix="penstock-count") as threads:
        return sum(threads.map(count, names))


def data_files(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the data files of a folder: Spark ignores hidden and empty files, and those in subfolders."""
    return {name: size for name, size in sizes.items() if size and "/" not in name and name[0] not in "._"}


def _digest(sizes: Mapping[str, int]) -> str:
    """Return a digest of the files that does not depend on their order."""
    sums = [0] * _LANE_COUNT
    for name, size in sizes.items():
        digits = hashlib.sha256(f"{name}/{size}".encode()).hexdigest()
        sums = [
            total + int(digits[lane * _LANE_DIGITS : (lane + 1) * _LANE_DIGITS], 16)
            for lane, total in enumerate(sums)
        ]
    return hashlib.sha256("-".join(map(str, sums)).encode()).hexdigest()
