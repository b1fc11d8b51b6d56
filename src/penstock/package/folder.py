"""The description of a folder of data files: their number, size and digest."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UnsafePath
from penstock.package.storage import safe_name
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package.storage import FileStorage

DRIVER_FILE: Final = "part-00000.parquet"
"""The file of a folder that the driver writes."""
# As in `penstock.spark.folders`.
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


def data_files(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the data files of a folder: Spark ignores hidden and empty files, and those in subfolders."""
    return {name: size for name, size in sizes.items() if size and "/" not in name and name[0] not in "._"}


def _digest(sizes: Mapping[str, int]) -> str:
    """Return the digest that `penstock.spark.folders` computes for the same files, in any order."""
    sums = [0] * _LANE_COUNT
    for name, size in sizes.items():
        digits = hashlib.sha256(f"{name}/{size}".encode()).hexdigest()
        sums = [
            total + int(digits[lane * _LANE_DIGITS : (lane + 1) * _LANE_DIGITS], 16)
            for lane, total in enumerate(sums)
        ]
    return hashlib.sha256("-".join(map(str, sums)).encode()).hexdigest()
