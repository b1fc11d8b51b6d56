"""The rows of a package on their way into the tables of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from penstock.destinations.lake.rows import POSITION
from penstock.errors import InternalError
from penstock.package import Package, read_job, sealed_manifest
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.config import AwsCredentials
    from penstock.interfaces import LoadMark
    from penstock.package.job_file import JobFile


class StagedTables(Protocol):
    """What a chain is loaded from."""

    @property
    def store(self) -> FileStorage:
        """The folder of the package."""

    @property
    def mark(self) -> LoadMark:
        """What the commits are marked with."""

    @property
    def created_at(self) -> str:
        """The moment of the load."""

    @property
    def tables(self) -> frozenset[str]:
        """The tables that get rows."""

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """The rows of a table, with the column `AT`."""


@dataclass(frozen=True)
class StagedPackage:
    """The rows of a sealed package, found from one of its job files."""

    job_path: str
    credentials: AwsCredentials | None = None

    @cached_property
    def job(self) -> JobFile:
        """What the job file says."""
        return read_job(self.job_path, credentials=self.credentials)

    @cached_property
    def _package(self) -> Package:
        return Package(FileStorage(self.job.package_path, credentials=self.credentials), self.job.load_id)

    @property
    def store(self) -> FileStorage:
        """The folder of the package."""
        return self._package.store

    @cached_property
    def mark(self) -> LoadMark:
        """What the commits are marked with."""
        found = self._package.load_mark()
        if found is None:
            raise InternalError(f"{self.job_path} is not part of a sealed load", hint="report this")
        return found

    @cached_property
    def created_at(self) -> str:
        """The moment of the load: that of its package."""
        return self._package.state()["created_at"]

    @cached_property
    def _jobs(self) -> dict[str, str]:
        """The job of each table, as it was sealed: another run may still write into the package."""
        return {entry.table: entry.job for entry in sealed_manifest(self._package, self.mark).tables}

    @property
    def tables(self) -> frozenset[str]:
        """The tables that get rows: those that have a job."""
        return frozenset(self._jobs)

    def frame(self, table: str, spark: SparkSession) -> DataFrame:
        """The rows of a table, with the column `AT`."""
        return self._package.job(self._jobs[table]).frame(spark, position=POSITION)
