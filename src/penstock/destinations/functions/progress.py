"""The progress of a job: its files, its batch size and the batches that are done, in the package's state."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.package.state import commit_load_package_state, destination_state

if TYPE_CHECKING:
    from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]
"""Ranges of numbers, first and last, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """The progress of one job.

    The files and the batch size never change once a batch may have been sent, so a batch number always means
    the same rows.
    """

    files: tuple[tuple[str, int], ...]
    """The files with the rows of the job, and the number of rows in each."""
    batch_size: int
    done: Ranges = ()

    @property
    def row_count(self) -> int:
        """The number of rows in all files."""
        return sum(rows for _, rows in self.files)

    @property
    def batch_count(self) -> int:
        """The number of batches; one for each file if the function gets paths."""
        return -(-self.row_count // self.batch_size) if self.batch_size else len(self.files)

    @property
    def done_count(self) -> int:
        """The number of batches that are done."""
        return sum(last - first + 1 for first, last in self.done)

    def is_done(self, number: int) -> bool:
        """Return whether a batch is done."""
        return any(first <= number <= last for first, last in self.done)

    def with_done(self, numbers: Iterable[int]) -> BatchProgress:
        """Return the progress with more batches done."""
        return replace(self, done=merged_ranges([*self.done, *((number, number) for number in numbers)]))

    @staticmethod
    def load(job_id: str) -> BatchProgress | None:
        """Return the progress of a job in the current package; None before its first attempt."""
        document = destination_state().get(job_id)
        if document is None:
            return None
        return BatchProgress(
            files=tuple((name, rows) for name, rows in document["files"]),
            batch_size=document["batch_size"],
            done=tuple((first, last) for first, last in document["done"]),
        )

    def save(self, job_id: str) -> None:
        """Write the progress to the state of the current package."""
        document: dict[str, Any] = asdict(self)
        destination_state()[job_id] = document
        commit_load_package_state()


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return sorted ranges without gaps between neighbours.

    >>> merged_ranges([(4, 4), (0, 1), (2, 2)])
    ((0, 2), (4, 4))
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)
