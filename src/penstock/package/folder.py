"""A folder of data files, described and not listed."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UnsafePath
from penstock.package.storage import safe_name
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.local_files import DirEntry

# As `penstock.spark.folders` sums them up.
_LANE_DIGITS: Final = 15
_LANE_COUNT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolder:
    """Data files under one name, whatever their number.

    `path` is relative to the package and names the attempt that wrote it. `digest` is a hash over the names
    and sizes of the files. What nobody counted is None.
    """

    path: str
    files: int | None = None
    bytes: int | None = None
    digest: str | None = None

    def find_mismatch(self, entries: Iterable[DirEntry]) -> str | None:
        """What is different about the files that a listing shows, or None.

        Spark sees none that are hidden or empty.
        """
        if self.digest is None:
            return None
        found = [
            entry for entry in entries if entry.size and not entry.is_folder and entry.name[0] not in "._"
        ]
        if len(found) != self.files:
            return f"{self.files} files were written there, and {len(found)} are there"
        size = sum(entry.size for entry in found)
        if size != self.bytes:
            return f"{self.bytes} bytes were written there, and {size} are there"
        if _digest(found) != self.digest:
            return "its files have other names or sizes than those that were written there"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for control files."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> DataFolder:
        """Read what `to_dict` gave; a path that leads out of the package is a `ValueError`."""
        folder = validate_fields(DataFolder(**document))
        try:
            safe_name(folder.path)
        except UnsafePath as error:
            raise ValueError(error.message) from error
        return folder


def _digest(files: Iterable[DirEntry]) -> str:
    """What `penstock.spark.folders` works out for the same files, in any order."""
    sums = [0] * _LANE_COUNT
    for file in files:
        digits = hashlib.sha256(f"{file.name}/{file.size}".encode()).hexdigest()
        sums = [
            total + int(digits[lane * _LANE_DIGITS : (lane + 1) * _LANE_DIGITS], 16)
            for lane, total in enumerate(sums)
        ]
    return hashlib.sha256("-".join(map(str, sums)).encode()).hexdigest()
