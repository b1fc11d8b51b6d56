"""One line of a folder's listing."""

from __future__ import annotations

from typing import NamedTuple


class DirEntry(NamedTuple):
    """A file or folder as a listing shows it. `modified` is in seconds since 1970, 0.0 where unknown."""

    name: str
    size: int
    modified: float
    is_folder: bool
