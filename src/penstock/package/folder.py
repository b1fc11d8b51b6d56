"""A folder of data files, described and not listed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import UnsafePath
from penstock.package.record import fitting
from penstock.package.storage import checked

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for control files."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> DataFolder:
        """Read what `to_dict` gave; a path that leads out of the package is a `ValueError`."""
        folder = fitting(DataFolder(**document))
        try:
            checked(folder.path)
        except UnsafePath as error:
            raise ValueError(error.message) from error
        return folder
