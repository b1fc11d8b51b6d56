"""The client of a destination: what the load stage asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from penstock.errors import IdentifierTooLongException
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces.capabilities import DestinationCapabilitiesContext
    from penstock.interfaces.configuration import DestinationClientConfiguration
    from penstock.interfaces.ledger import Ledger, StateInfo, StorageSchemaInfo
    from penstock.interfaces.loadjob import AppliedJob, LoadJob, LoadMark, NewLoadJob
    from penstock.schema import Schema, TSchemaTables, TTableSchema, TWriteDisposition


_INHERITED_HINTS = ("write_disposition", "table_format", "file_format", "x-merge-strategy")


class JobClientBase(ABC):
    """A destination opened for one schema: `with` opens and closes it.

    Every job gets a client of its own, in the thread it runs in. Whatever a client does may be done again
    after a crash, so doing it twice must come to the same as doing it once.
    """

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientConfiguration,
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        self.schema, self.config, self.capabilities = schema, config, capabilities
        self._close_callbacks: list[Callable[[], None]] = []

    def when_closed(self, call: Callable[[], None]) -> None:
        """Have something called when the client is closed; the last that was given comes first.

        What lends a client its session gives it back this way. Who overrides `__exit__` calls the one above.
        """
        self._close_callbacks.append(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close what `__enter__` opened."""
        while self._close_callbacks:
            self._close_callbacks.pop()()

    @abstractmethod
    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make the place for the tables, such as a folder or a database schema; empty the given tables."""

    @abstractmethod
    def is_storage_initialized(self) -> bool:
        """Whether tables can be read and written."""

    @abstractmethod
    def drop_storage(self) -> None:
        """Undo `initialize_storage`, tables and rows included."""

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Bring the tables up to the schema; gives what was really changed.

        `only_tables` names the tables to look at. `expected_update` is what the schema has more than after
        the last load; with a second writer about it need not be what the destination lacks.
        """
        self.verify_schema(only_tables)
        return expected_update

    @abstractmethod
    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Start the job whose file is at `file_path`, for `table`."""

    @abstractmethod
    def restore_file_load(self, file_path: str) -> LoadJob:
        """Find a job that a process started which is gone.

        Where that is not possible, `LoadClientTransientException` has it started anew.
        """

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        """The jobs to run now that all jobs of a table and of those nested in it are done."""
        del table_chain
        return []

    @abstractmethod
    def complete_load(self, load_id: str) -> None:
        """Mark the load as complete; before that its rows do not count."""

    def displayable_location(self) -> str:
        """Where the rows go, fit to be shown: without credentials."""
        return str(self.config)

    def prepare_load_table(self, table_name: str) -> TTableSchema:
        """A table as a job sees it: with what nested tables take from their root, without untyped columns."""
        table = self.schema.get_table(table_name)
        root = root_table(table_name, self.schema.tables).to_dict()
        inherited: dict[str, Any] = {key: value for key, value in root.items() if key in _INHERITED_HINTS}
        prepared: dict[str, Any] = {**inherited, **table.to_dict()}
        prepared["columns"] = {column.name: column.to_dict() for column in table.complete_columns()}
        return cast("TTableSchema", prepared)

    def verify_schema(self, only_tables: Iterable[str] | None = None) -> None:
        """Refuse names that the destination has no room for."""
        longest = self.capabilities.max_identifier_length
        longest_column = self.capabilities.max_column_identifier_length
        for name in self.schema.tables if only_tables is None else only_tables:
            self._verify_length("table", name, longest)
            for column in self.schema.get_table(name).complete_columns():
                self._verify_length("column", column.name, longest_column)

    def _verify_length(self, kind: str, name: str, max_length: int) -> None:
        if len(name) > max_length:
            destination = self.config.destination_name or type(self).__name__
            raise IdentifierTooLongException(
                destination=destination, kind=kind, name=name, max_length=max_length
            )


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
