"""Limits and names of part files, and the workload of an extraction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import UsageError
from penstock.interfaces.source import NextItemMode

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Limits in bytes of uncompressed text. One task reads one row group, and the driver buffers one.

    A file is closed after `file_seconds`, however small it is, so that rows of a slow source reach storage.
    """

    row_group_bytes: int = 16 * MEGABYTE
    row_group_rows: int = 100_000
    file_bytes: int = 256 * MEGABYTE
    buffer_bytes: int = 128 * MEGABYTE
    """Limit of the buffers of all tables together."""
    open_files: int = 64
    file_seconds: float = 300.0

    def group_is_full(self, *, rows: int, size: int) -> bool:
        """Return whether the buffer must be written."""
        return rows >= self.row_group_rows or size >= self.row_group_bytes

    def file_is_full(self, size: int) -> bool:
        """Return whether the next row group begins a new file."""
        return size >= self.file_bytes

    def is_old(self, seconds: float) -> bool:
        """Return whether a file is due to be closed after so many seconds."""
        return seconds >= self.file_seconds


OnBadRow = Literal["quarantine", "fail"]
"""A row without a JSON form is quarantined, or ends the extraction."""
OnError = Literal["raise", "continue"]
"""A resource that raises ends the extraction, or the others continue without it."""


WorkItemLocation = Literal["executors", "driver"]
"""The processes that call functions of resources with work items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Concurrency and error handling of an extraction; the defaults are dlt's."""

    workers: int = 5
    """Threads for deferred calls and parallel resources."""
    max_parallel_items: int = 20
    """Maximum of calls, generator steps and coroutines that run at the same time."""
    next_item_mode: NextItemMode = "round_robin"
    """`round_robin`: one item of each resource in turn. `fifo`: one resource after the other."""
    on_bad_row: OnBadRow = "quarantine"
    work_items: WorkItemLocation = "executors"
    wave_seconds: float = 40.0
    """Approximate duration of a wave of work items."""
    slots: int | None = None
    """Work items that executors process at the same time; None: Spark is queried."""
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        if self.workers < 1 or self.max_parallel_items < 1:
            raise UsageError(
                f"workers and max_parallel_items must be positive, got {self.workers}"
                f" and {self.max_parallel_items}",
                hint="set extract.workers and extract.max_parallel_items to 1 or more",
            )
        if self.wave_seconds <= 0 or (self.slots is not None and self.slots < 1):
            raise UsageError(
                f"wave_seconds and slots must be positive, got {self.wave_seconds} and {self.slots}",
                hint="set extract.wave_seconds and extract.slots above 0",
            )
        if self.next_item_mode not in get_args(NextItemMode):
            raise UsageError(
                f"{self.next_item_mode!r} is not a next_item_mode", hint="use round_robin or fifo"
            )


def part_name(folder: str, index: int, *, writer: int | None = None) -> str:
    """Return the name of a part file; names sort in order of writing, and several writers have numbers."""
    begin = "" if writer is None else f"w{writer:05d}-"
    return f"{folder}/{begin}part-{index:06d}.parquet"


def table_folder(index: int, attempt: str | None = None) -> str:
    """Return the folder of a table, a number, because a table name may be no valid folder name.

    In a package that another run may continue, each attempt has separate folders.
    """
    return f"data/extracted/{attempt}/{index:05d}" if attempt else f"data/extracted/{index:05d}"
