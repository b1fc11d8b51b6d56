"""When a row group and a part file are full, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Limits in bytes of uncompressed text. A row group is what one task reads and what the driver holds.

    A file is closed after `file_seconds`, however small it is: what a slow source has given is on storage.
    """

    row_group_bytes: int = 16 * MEGABYTE
    row_group_rows: int = 100_000
    file_bytes: int = 256 * MEGABYTE
    file_seconds: float = 300.0

    def group_is_full(self, *, rows: int, size: int) -> bool:
        """Whether the rows held so far must be written."""
        return rows >= self.row_group_rows or size >= self.row_group_bytes

    def file_is_full(self, size: int) -> bool:
        """Whether the next row group begins a new file."""
        return size >= self.file_bytes

    def is_old(self, seconds: float) -> bool:
        """Whether rows that were taken so long ago must be on storage by now."""
        return seconds >= self.file_seconds


def part_name(folder: str, index: int) -> str:
    """Part files of a resource in the order they were written."""
    return f"{folder}/part-{index:06d}.parquet"


def resource_folder(index: int) -> str:
    """Resources are numbered: their names may hold anything."""
    return f"data/extracted/{index:05d}"
