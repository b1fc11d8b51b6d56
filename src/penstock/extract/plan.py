"""When a row group and a part file are full, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import UsageError
from penstock.interfaces.source import NextItemMode

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Limits in bytes of uncompressed text. A row group is what one task reads and what the driver holds.

    A file is closed after `file_seconds`, however small it is: what a slow source has given is on storage.
    """

    row_group_bytes: int = 16 * MEGABYTE
    row_group_rows: int = 100_000
    file_bytes: int = 256 * MEGABYTE
    buffer_bytes: int = 128 * MEGABYTE
    """What the driver holds of all tables together."""
    open_files: int = 64
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


OnBadRow = Literal["quarantine", "fail"]
"""What happens to a row that has no JSON form: it is put aside, or it ends the extraction."""
OnError = Literal["raise", "continue"]
"""What a resource that raises does: it ends the extraction, or the others go on without it."""


WorkItemLocation = Literal["executors", "driver"]
"""Where functions of resources with work items are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How much is done at the same time, and which resource is next; the defaults are dlt's."""

    workers: int = 5
    """Threads for deferred calls and parallel resources."""
    max_parallel_items: int = 20
    """Calls, steps of generators and coroutines under way at most."""
    next_item_mode: NextItemMode = "round_robin"
    """`round_robin`: one item of each resource in turn. `fifo`: one resource after the other."""
    on_bad_row: OnBadRow = "quarantine"
    work_items: WorkItemLocation = "executors"
    wave_seconds: float = 40.0
    """How long a wave of work items takes, about."""
    slots: int | None = None
    """How many work items executors do at the same time; None to ask Spark."""
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        if self.workers < 1 or self.max_parallel_items < 1:
            raise UsageError(
                "nothing can be extracted by no worker, or no item at a time",
                hint="set extract.workers and extract.max_parallel_items to 1 or more",
            )
        if self.wave_seconds <= 0 or (self.slots is not None and self.slots < 1):
            raise UsageError(
                "work items need time and a slot", hint="set extract.wave_seconds and extract.slots above 0"
            )
        if self.next_item_mode not in get_args(NextItemMode):
            raise UsageError(
                f"{self.next_item_mode!r} is not a next_item_mode", hint="use round_robin or fifo"
            )


def part_name(folder: str, index: int, *, writer: int | None = None) -> str:
    """Part files in the order they were written; several writers of one folder are told apart by numbers."""
    begin = "" if writer is None else f"w{writer:05d}-"
    return f"{folder}/{begin}part-{index:06d}.parquet"


def table_folder(index: int, attempt: str | None = None) -> str:
    """Tables are numbered: a folder says nothing that a name could break.

    In a package that a run may go on with, each attempt has folders of its own.
    """
    return f"data/extracted/{attempt}/{index:05d}" if attempt else f"data/extracted/{index:05d}"
