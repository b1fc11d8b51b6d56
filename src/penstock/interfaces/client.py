"""The client of a destination and its optional traits: the interface of the load stage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

from penstock.errors import DestinationTerminalException, IdentifierTooLongException
from penstock.interfaces.table_strategies import loader_file_format, merge_strategy, replace_strategy
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces.capabilities import (
        DataTypeMapper,
        DestinationCapabilitiesContext,
        TLoaderFileFormat,
    )
    from penstock.interfaces.configuration import DestinationClientConfiguration
    from penstock.interfaces.ledger import CommitRecord, Ledger, StateInfo, StorageSchemaInfo
    from penstock.interfaces.loadjob import AppliedJob, LoadJob, LoadMark, NewLoadJob
    from penstock.schema import Schema, Table, TColumnSchema, TSchemaTables, TTableSchema, TWriteDisposition


_INHERITED_HINTS = ("write_disposition", "table_format", "file_format", "x-merge-strategy")


class JobClientBase(ABC):
    """A destination opened for one schema; a context manager.

    Every job gets its own client in its own thread. All methods must be idempotent, because a crash may
    repeat any of them.
    """

    load_mark: LoadMark | None = None
    """The mark of the load that the client works for; None if its jobs have to read it."""

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientConfiguration,
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        self.schema, self.config, self.capabilities = schema, config, capabilities
        self._close_callbacks: list[Callable[[], None]] = []

    def when_closed(self, call: Callable[[], None]) -> None:
        """Register a callback for the close of the client; callbacks run in reverse order.

        The owner of a lent session gets it back this way. An overriding `__exit__` must call this one.
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
        """Create the storage, such as a folder or a database schema; truncate the given tables."""

    @abstractmethod
    def is_storage_initialized(self) -> bool:
        """Return whether the storage exists."""

    @abstractmethod
    def drop_storage(self) -> None:
        """Undo `initialize_storage`, including tables and rows."""

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Create tables and columns that do not exist at the destination; return the update that was applied.

        The result has the tables with the columns that were created or changed. `only_tables` limits it to
        some tables. `expected_update` is the change of the schema since the last load; another writer may
        have applied it already. This implementation is for destinations without DDL: it checks names, and
        returns the expected update.
        """
        self.verify_schema(only_tables)
        return expected_update

    @abstractmethod
    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Start the job with the file at `file_path` for `table`."""

    @abstractmethod
    def restore_file_load(self, file_path: str) -> LoadJob:
        """Attach to a job that an earlier process started.

        Raise `LoadClientTransientException` to start it again instead.
        """

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        """Return the jobs to run after all jobs of a table and its nested tables are done."""
        del table_chain
        return []

    @abstractmethod
    def complete_load(self, load_id: str) -> None:
        """Mark the load as complete; before that its rows do not count."""

    def displayable_location(self) -> str:
        """Return the location of the tables without credentials."""
        return str(self.config)

    def prepare_load_table(self, table_name: str) -> TTableSchema:
        """Return a table as jobs need it: with hints inherited from its root, without untyped columns."""
        table = self.schema.get_table(table_name)
        root = root_table(table_name, self.schema.tables).to_dict()
        inherited: dict[str, Any] = {key: value for key, value in root.items() if key in _INHERITED_HINTS}
        prepared: dict[str, Any] = {**inherited, **table.to_dict()}
        prepared["columns"] = {
            column.name: self._supported_hints(column.to_dict()) for column in table.complete_columns()
        }
        prepared |= self._strategies(cast("TTableSchema", prepared))
        return cast("TTableSchema", prepared)

    def loader_file_format(self, table_name: str) -> TLoaderFileFormat:
        """Return the format in which the jobs of a table get its rows; `reference` if they read them."""
        table = self.prepare_load_table(table_name)
        return loader_file_format(self.capabilities, table, is_staged=self.config.is_staged)

    def _strategies(self, prepared: TTableSchema) -> dict[str, str]:
        strategies = {
            "x-merge-strategy": merge_strategy(self.capabilities, prepared),
            "x-replace-strategy": replace_strategy(
                self.capabilities, prepared, getattr(self.config, "replace_strategy", None)
            ),
        }
        return {hint: strategy for hint, strategy in strategies.items() if strategy is not None}

    def _supported_hints(self, column: TColumnSchema) -> TColumnSchema:
        """Return a column without a precision that the destination does not support."""
        capabilities = self.capabilities
        is_configurable = {
            "timestamp": capabilities.supports_timestamp_precision_configuration,
            "binary": capabilities.supports_binary_precision_configuration,
            "decimal": capabilities.schema_supports_numeric_precision,
            "wei": capabilities.schema_supports_numeric_precision,
        }
        if is_configurable.get(column["data_type"], True):
            return column
        supported = {key: value for key, value in column.items() if key not in {"precision", "scale"}}
        return cast("TColumnSchema", supported)

    def verify_schema(self, only_tables: Iterable[str] | None = None) -> None:
        """Raise an error for tables that the destination cannot create.

        Their names are too long or are one name there, or it has no type for a column.
        """
        names = list(self.schema.tables if only_tables is None else only_tables)
        self._verify_names("table", names, self.capabilities.max_identifier_length)
        mapper = self.capabilities.get_type_mapper()
        for name in names:
            columns = [column.name for column in self.schema.get_table(name).complete_columns()]
            self._verify_names("column", columns, self.capabilities.max_column_identifier_length)
            if mapper is not None:
                self._verify_types(mapper, self.prepare_load_table(name))

    def _verify_names(self, kind: str, names: Sequence[str], max_length: int) -> None:
        destination = self.config.destination_name or type(self).__name__
        owners: dict[str, str] = {}
        for name in names:
            if len(name) > max_length:
                raise IdentifierTooLongException(
                    destination=destination, kind=kind, name=name, max_length=max_length
                )
            owner = owners.setdefault(self.capabilities.folded_identifier(name), name)
            if owner != name:
                raise DestinationTerminalException(
                    f"{kind}s {owner!r} and {name!r} have the same name in {destination}",
                    hint="rename one of them, or use a naming convention in lower case, such as snake_case",
                )

    def _verify_types(self, mapper: DataTypeMapper, table: TTableSchema) -> None:
        file_format = self.loader_file_format(table["name"])
        for column in table["columns"].values():
            try:
                mapper.to_destination_type(column, table)
                mapper.ensure_supported_type(column, table, file_format)
            except ValueError as error:
                raise DestinationTerminalException(
                    f"column {column['name']} of {table['name']} has type {column['data_type']}: {error}",
                    hint="declare another type: apply_hints(columns={...}), or another file_format",
                ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTables:
    """The update of the tables of a load: the part that was applied, and that of the commits of its rows."""

    applied: TSchemaTables
    by_commits: TSchemaTables


class WithTablesByCommit(ABC):
    """Creates tables and columns in the commit of their first rows.

    A load needs no statement for them; only `update_stored_schema` does.
    """

    @abstractmethod
    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Update the tables of a load, except for what the commits of those `with_rows` do. Idempotent.

        `stored_tables` are those of the schema that is stored at the destination. A load calls it instead of
        `update_stored_schema`, before its first job.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCommit:
    """Everything that the commit of a load writes."""

    tables: Sequence[str]
    """The tables of all chains without a failed job, roots before their nested tables."""
    job_paths: Mapping[str, str]
    """The addresses of the job files, by table: `read_job` opens them."""
    removed_tables: Sequence[str]
    """Tables that the load drops and does not create again."""
    schema: StorageSchemaInfo
    state: StateInfo
    """The state after the load; one with the version hash of the stored state is not stored again."""
    record: CommitRecord
    """The row of the load; its `tables` are those that the client has counted."""
    created_at: str
    """The timestamp of the load, at which versions of rows change."""
    confirm: Callable[[], None]
    """Called when only the commit itself is left; raises if the load must not be committed any more."""
    undone_tables: Sequence[str] = ()
    """The tables that lose the rows of the loads that this one undoes; nested tables before their roots."""
    removed_columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns that the undone loads added, by table."""


class WithAtomicCommit(ABC):
    """Commits all tables of a load with its schema, state and ledger row in one transaction.

    The jobs of a load only put their rows into staging. Readers see nothing of a load before its commit.
    """

    @abstractmethod
    def commit_load(self, load: LoadCommit) -> Sequence[AppliedJob] | None:
        """Commit a load, and return the changes of its tables; None if it was committed before."""


class WithStateSync(ABC):
    """Stores schemas and states, so that a new machine can restore them."""

    @abstractmethod
    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """Return the newest stored version of the client's schema."""

    @abstractmethod
    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""


class WithStagingDataset(ABC):
    """Can load rows into a staging dataset first, from which they are moved to their tables."""

    @abstractmethod
    def get_stage_dispositions(self) -> list[TWriteDisposition]:
        """The write dispositions whose rows go to the staging dataset."""

    @abstractmethod
    def with_staging_dataset(self) -> AbstractContextManager[JobClientBase]:
        """Return the client in a context where its methods work on the staging dataset."""


class WithLedger(ABC):
    """Stores the ledger of its dataset next to the tables."""

    @abstractmethod
    def ledger(self) -> Ledger:
        """Return the ledger: the complete loads with their schemas and states."""


class WithPackageStorage(ABC):
    """Can store packages where driver and executors both reach them."""

    @abstractmethod
    def package_root(self, pipeline_name: str) -> str:
        """Return the folder of a pipeline's packages."""

    def recorded_root(self, pipeline_name: str) -> str:
        """Return the package root of the last run; by default the current one."""
        return self.package_root(pipeline_name)

    def record_root(self, pipeline_name: str, root: str) -> bool:
        """Record the package root of a pipeline; return False if another run was first."""
        return True


class WithTableDrop(ABC):
    """Can drop tables."""

    @abstractmethod
    def drop_tables(self, *tables: str) -> None:
        """Drop tables with all their rows; missing tables are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """A commit to a table, and its load; None if no load of penstock made it."""

    version: int
    load_id: str | None = None
    pipeline_name: str | None = None
    undoes: str | None = None
    """The load that this commit rolls back."""
    replaces: bool = False
    """Whether the table keeps nothing of earlier commits. False if unknown."""


class WithTableVersions(ABC):
    """Can read tables at their versions.

    These methods may be called on a client that is not opened.
    """

    @abstractmethod
    def table_names(self) -> tuple[str, ...]:
        """Return the existing data tables."""

    @abstractmethod
    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the current version of a table; None without a table or versions."""

    @abstractmethod
    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session, at `version` or the latest."""

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """Return the newest commits to a table, newest first, up to a limit; empty if unknown.

        Readers use it to find the newest version without rows of an incomplete load. Without it they read
        the latest version.
        """
        return ()

    def sql_name(self, table: str) -> str | None:
        """Return the quoted name of a table in Spark SQL for DML; None if there is none."""
        return None


class WithSmallTables(ABC):
    """Can return the rows of small tables without Spark.

    Its method may be called on a client that is not opened.
    """

    @abstractmethod
    def read_small_table(self, table: str, version: int | None = None) -> pa.Table | None:
        """Return all rows, in the Arrow types in which Spark returns them; None if Spark has to read them."""


class WithUndo(ABC):
    """Can roll back the changes of a job."""

    @abstractmethod
    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """Return the change of a load from the table's history; None if there is nothing to roll back.

        It is called if a process may have died right after its commit. A table that was changed since is an
        error, as for `undo`.
        """

    @abstractmethod
    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Restore a table to its state before a job. Idempotent.

        A table that was changed since is not touched, and an error is raised.
        """

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise `CommitRolledBack` unless a table still has the commit of a job of a load.

        It is called before a resumed load is completed, for the jobs that an earlier process completed.
        """
        return

    def is_overwritten(self, applied: AppliedJob, mark: LoadMark) -> bool:
        """Return whether a commit that a job has just made was overwritten by one of another writer.

        It is called once all jobs of a load have ended. The job is repeated.
        """
        del applied, mark
        return False

    def fence(self, table: str, mark: LoadMark) -> None:
        """Reject commits of an aborted load from now on, if the table can. Idempotent.

        It is called before `undo`: a process that lost its lease may be about to commit.
        """
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRestore:
    """The return of a table to an earlier version, by the undo of complete loads."""

    table: str
    version: int | None
    """The version to restore; None if the undone loads created the table: it is dropped."""
    newest: int | None
    """The newest commit when the undo was planned."""
    other_changes: tuple[str, ...] = ()
    """Commits since that version that are not of loads of the pipeline; a restore overwrites them."""
    obstacle: str | None = None
    """The reason why the version cannot be restored."""
    deletes_rows: bool = False
    """Whether the rows of the undone loads are deleted instead: a database keeps no versions."""


def missing_table(table: str, version: int | None) -> TableRestore:
    """Return the impossible restore of a table that does not exist."""
    obstacle = f"{table} does not exist any more"
    return TableRestore(table=table, version=version, newest=None, obstacle=obstacle)


class WithRowUndo(ABC):
    """Can delete the rows that loads have appended, and the tables and columns that they created.

    `WithAtomicCommit.commit_load` does it.
    """

    @abstractmethod
    def plan_row_undo(
        self, table: str, load_ids: Sequence[str], *, is_created: bool, rows: int | None
    ) -> TableRestore:
        """Return what the undo of loads does to a table; nothing is changed.

        With `is_created` these loads created the table; `rows` is the number of rows that they appended.
        """


def restore_refused(table: str, changes: Sequence[str]) -> DestinationTerminalException:
    """Return the error of a table that another writer has changed since its restore was planned."""
    return DestinationTerminalException(
        f"{table} was changed after the undo was planned: {'; '.join(changes) or 'by another writer'}",
        hint="abort the undo with drop_pending_packages(), and look at the plan of a new one",
        table=table,
    )


class WithTableRestore(ABC):
    """Can restore recorded versions of tables, each by a new commit."""

    @abstractmethod
    def plan_restore(self, table: str, version: int | None, own_loads: Container[str]) -> TableRestore:
        """Return what the restore of a version would do; nothing is changed.

        `own_loads` are the complete loads of the pipeline. Commits of others since the version are listed.
        """

    @abstractmethod
    def restore(self, planned: TableRestore, mark: LoadMark, *, overwrites: bool) -> AppliedJob:
        """Restore a version by one commit with the mark of the load of the undo. Idempotent.

        With `overwrites` commits since the plan are overwritten; without it they are an error.
        """
