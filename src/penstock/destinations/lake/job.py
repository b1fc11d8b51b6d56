"""The job of a lake: the commits that one job file comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException

from penstock.errors import DataError, InternalError, UsageError
from penstock.interfaces import LoadJob, ParsedLoadJobFileName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.interfaces import AppliedJob, TLoadJobState

# What would be refused again.
_TERMINAL_ERRORS: Final = (UsageError, DataError, InternalError, AnalysisException)


class TableLoadJob(LoadJob):
    """The commits of one job file; it has ended as soon as it exists."""

    def __init__(self, file_path: str, commits: Iterator[AppliedJob]) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        self._applied: list[AppliedJob] = []
        self._error: Exception | None = None
        try:
            self._applied.extend(commits)
        except _TERMINAL_ERRORS as error:
            # What was done before can be taken back only by who knows of it.
            if not self._applied:
                raise
            self._error = error

    def state(self) -> TLoadJobState:
        """`completed`, or `failed` with something done; every other error was raised."""
        return "completed" if self._error is None else "failed"

    def exception(self) -> str:
        """Why the job is failed."""
        return "" if self._error is None else str(self._error)

    def applied(self) -> Sequence[AppliedJob]:
        """The commits: their rows, and the versions before and after each."""
        return tuple(self._applied)
