"""The load job of a table: its staged rows, and the commits it makes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.errors import AnalysisException

from penstock.destinations.lake.flat_files import JobFiles
from penstock.destinations.lake.rows import POSITION
from penstock.errors import DataError, InternalError, UsageError
from penstock.interfaces import LoadJob, ParsedLoadJobFileName
from penstock.package import Package, read_job, sealed_manifest
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.config import AwsCredentials
    from penstock.interfaces import AppliedJob, LoadMark, TLoadJobState
    from penstock.package.job_file import JobFile


class StagedTables(Protocol):
    """The staged rows that a chain is loaded from."""

    @property
    def store(self) -> FileStorage:
        """The folder of the package."""

    @property
    def mark(self) -> LoadMark:
        """The mark of the commits."""

    @property
    def created_at(self) -> str:
        """The timestamp of the load."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables that get rows."""

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """Return the rows of a table, with the column `POSITION`."""

    def flat_files(self, table: str) -> JobFiles | None:
        """Return the files of a table if they have its columns already."""


@dataclass(frozen=True)
class StagedPackage:
    """The staged rows of a sealed package, read through one of its job files."""

    job_path: str
    credentials: AwsCredentials | None = None
    load_mark: LoadMark | None = None
    """The mark of the load; None if it has to be read."""
    unsealed_jobs: Mapping[str, str] | None = None
    """The job file of each table of a package that is not sealed; None to read the sealed manifest."""

    @cached_property
    def job(self) -> JobFile:
        """The parsed job file."""
        return read_job(self.job_path, mark=self.load_mark, credentials=self.credentials)

    @cached_property
    def _package(self) -> Package:
        return Package(FileStorage(self.job.package_path, credentials=self.credentials), self.job.load_id)

    @property
    def store(self) -> FileStorage:
        """The folder of the package."""
        return self._package.store

    @cached_property
    def mark(self) -> LoadMark:
        """The mark of the commits."""
        mark = self.load_mark or self._package.load_mark()
        if mark is None:
            raise InternalError(f"{self.job_path} is not part of a sealed load", hint="report this")
        return mark

    @cached_property
    def created_at(self) -> str:
        """The timestamp of the load, which is that of its package."""
        return self._package.state()["created_at"]

    @cached_property
    def _jobs(self) -> dict[str, str]:
        """The job of each table in the sealed manifest: another run may still write into the package."""
        if self.unsealed_jobs is not None:
            return dict(self.unsealed_jobs)
        return {entry.table: entry.job for entry in sealed_manifest(self._package, self.mark).tables}

    @property
    def tables(self) -> frozenset[str]:
        """The tables that get rows, which are those with a job."""
        return frozenset(self._jobs)

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """Return the rows of a table, with the column `POSITION`."""
        return self._job_of(table).frame(spark, position=POSITION)

    def flat_files(self, table: str) -> JobFiles | None:
        """Return the files of a table if they have its columns already."""
        return JobFiles.of_job(self._job_of(table), self.credentials)

    def _job_of(self, table: str) -> JobFile:
        return self._package.job(self._jobs[table], mark=self.load_mark)


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
