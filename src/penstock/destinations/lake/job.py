"""The load job of a table: the commits of one job file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from penstock.errors import DataError, InternalError, UsageError
from penstock.interfaces import LoadJob, ParsedLoadJobFileName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.interfaces import AppliedJob, TLoadJobState

# Errors that a retry would meet again.
_TERMINAL_ERRORS: Final = (UsageError, DataError, InternalError, AnalysisException)


class TableLoadJob(LoadJob):
    """The commits of one job file, recorded as they are made."""

    def __init__(self, file_path: str) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        self._applied: list[AppliedJob] = []
        self._error: Exception | None = None

    def record(self, applied: AppliedJob) -> None:
        """Record a commit."""
        self._applied.append(applied)

    @contextmanager
    def partial_failure(self) -> Iterator[None]:
        """Fail the job, instead of raising, on a terminal error after the first commit.

        A raised error has no place for the commits, and the load must undo them.
        """
        try:
            yield
        except _TERMINAL_ERRORS as error:
            if not self._applied:
                raise
            self._error = error

    def state(self) -> TLoadJobState:
        """Return `completed`, or `failed` after a partial failure; every other error was raised."""
        return "completed" if self._error is None else "failed"

    def exception(self) -> str:
        """Return why the job failed; empty if it did not."""
        return "" if self._error is None else str(self._error)

    def applied(self) -> Sequence[AppliedJob]:
        """Return the commits: their rows, and the versions before and after each."""
        return tuple(self._applied)
