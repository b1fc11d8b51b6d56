"""What some destinations can do besides: a client says so by inheriting these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces.client import JobClientBase
    from penstock.interfaces.ledger import Ledger, StateInfo, StorageSchemaInfo
    from penstock.interfaces.loadjob import AppliedJob, LoadMark
    from penstock.schema import TWriteDisposition


class WithStateSync(ABC):
    """Remembers schemas and states, so that a fresh machine can go on."""

    @abstractmethod
    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """The newest stored version of the client's schema."""

    @abstractmethod
    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """The newest state of a pipeline that belongs to a complete load."""


class WithStagingDataset(ABC):
    """Can take rows in a second dataset first, from where they are moved to their tables."""

    @abstractmethod
    def get_stage_dispositions(self) -> list[TWriteDisposition]:
        """The write dispositions whose rows go to the staging dataset."""

    @abstractmethod
    def with_staging_dataset(self) -> AbstractContextManager[JobClientBase]:
        """The client to use in the block; its methods work on the staging dataset."""


class WithLedger(ABC):
    """Keeps the ledger of its dataset itself, beside the tables."""

    @abstractmethod
    def ledger(self) -> Ledger:
        """Which loads are complete, and the schemas and states that go with them."""


class WithPackageStorage(ABC):
    """Has room for packages where driver and executors both reach it."""

    @abstractmethod
    def package_root(self, pipeline_name: str) -> str:
        """Where the packages of a pipeline live."""

    def recorded_root(self, pipeline_name: str) -> str:
        """Where the packages of the last run were; a destination that records none returns its own place."""
        return self.package_root(pipeline_name)

    def record_root(self, pipeline_name: str, root: str) -> bool:
        """Record where the packages of a pipeline are from now on; False where another run was first."""
        return True


class WithTableDrop(ABC):
    """Can take tables away."""

    @abstractmethod
    def drop_tables(self, *tables: str) -> None:
        """Take tables away with all their rows; what is not there is gone already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """One commit to a table, and the load that made it; None where no load of penstock did."""

    version: int
    load_id: str | None = None
    pipeline_name: str | None = None
    undoes: str | None = None
    """The load that this commit takes back."""
    replaces: bool = False
    """Whether nothing of the commits before it is left in the table. False where nobody knows."""


class WithTableVersions(ABC):
    """Can be read back, and tells the versions of its tables apart.

    Readers come and go as they like: these methods may be called on a client that nobody has opened.
    """

    @abstractmethod
    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here."""

    @abstractmethod
    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The version of a table at this moment; None where there is no table, or tables have no versions."""

    @abstractmethod
    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session: as it was at `version`, or as it is."""

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """The commits to a table, newest first, at most so many; empty where nobody can tell.

        Readers find the newest version in it that holds nothing of a load which is not complete. Without it
        they read a table as it is.
        """
        return ()

    def sql_name(self, table: str) -> str | None:
        """How Spark SQL calls a table, quoted, in statements that change it; None where none can."""
        return None


class WithUndo(ABC):
    """Can take back what a job did to a table."""

    @abstractmethod
    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """What a load did to a table, as the table itself tells; None where there is nothing to take back.

        It is asked where nobody else knows: a process may have died right after its commit. A table that
        somebody has changed since is an error, as it is for `undo`.
        """

    @abstractmethod
    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Bring a table back to what it was before a job; once is enough, twice does no harm.

        A table that somebody has changed since is left as it is, with an error.
        """

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise `CommitRolledBack` unless a table still shows what a job of a load wrote.

        It is called before a resumed load is completed, for the jobs that an earlier process had completed.
        """
        return

    def fence(self, table: str, mark: LoadMark) -> None:
        """Refuse commits of an aborted load from now on, where the table can; twice does no harm.

        It is called before `undo`: a process that has lost its lease may be about to commit.
        """
        return
