"""The client of a lake: tables in a table format, with one atomic commit to each table of a load."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.destinations.lake.change_counts import ChainChanges, count_changes
from penstock.destinations.lake.dataset import DatasetClient
from penstock.destinations.lake.ddl import (
    add_columns_statement,
    changed_types,
    differing_types,
    missing_columns,
)
from penstock.destinations.lake.flat_files import JobFiles
from penstock.destinations.lake.job import StagedPackage, TableLoadJob
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.lake.run import ChainLoad, LakeTables
from penstock.errors import InternalError
from penstock.interfaces import (
    RENEW,
    AppliedJob,
    LoadJob,
    ParsedLoadJobFileName,
    PreparedTables,
    TableState,
    WithChangeCounts,
    WithTableDrop,
    WithTableRestore,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
    renewal_of,
)
from penstock.package import read_job
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.conflicts import Result
    from penstock.destinations.lake.hints import MergeStrategy
    from penstock.interfaces import (
        DestinationCapabilitiesContext,
        DestinationClientDwhConfiguration,
        LoadMark,
        TableChanges,
        TableCommit,
        TableRestore,
        UnsealedLoad,
    )
    from penstock.schema import Schema, Table, TSchemaTables, TTableSchema


class VersionedTables(LakeTables, Protocol):
    """The operations that a client needs of a table format, beside the commits of a chain."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Create the schema of the catalog if it does not exist."""

    def sql_name(self, table: str) -> str:
        """Return the name of a table in SQL."""

    def version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the current version of a table; None before its first commit."""

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> Sequence[TableCommit]:
        """Return the commits to a table, newest first."""

    def create(self, table: Table, *, spark: SparkSession) -> None:
        """Create an empty table as its first commit would, if it does not exist."""

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Drop a table with all its rows, if it exists."""

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """Return the commit of a load that is still in effect; None if there is none."""

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Restore the version of a table before a job."""

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect."""

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Refuse later commits of an aborted load."""

    def plan_restore(
        self, table: str, version: int | None, own_loads: Container[str], *, spark: SparkSession
    ) -> TableRestore:
        """Return what the restore of a version would do."""

    def restore(
        self, planned: TableRestore, mark: LoadMark, *, overwrites: bool, spark: SparkSession
    ) -> AppliedJob:
        """Restore a version by one commit."""


class LakeClient(
    DatasetClient,
    WithTablesByCommit,
    WithTableVersions,
    WithTableDrop,
    WithTableRestore,
    WithUndo,
    WithChangeCounts,
):
    """A lake opened for one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientDwhConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        bucket_url: str | None,
        spark: SparkSession | None = None,
        chain_locks: ChainLocks | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities, bucket_url=bucket_url, spark=spark)
        self._chain_locks = chain_locks or ChainLocks()

    @property
    @abstractmethod
    def tables(self) -> VersionedTables:
        """The tables of the dataset."""

    @property
    @abstractmethod
    def is_by_path(self) -> bool:
        """Whether tables are addressed by their folders, and not by their names in a catalog."""

    @abstractmethod
    def path_table_names(self) -> tuple[str, ...]:
        """Return the tables below the folder of the dataset."""

    @abstractmethod
    def alter_table(
        self, table: Table, previous: Table | None, types: Mapping[str, tuple[str, str]]
    ) -> frozenset[str]:
        """Apply changed hints and wider types to an existing table; return the widened columns.

        `previous` is the table of the last load. `types` has for some columns the type at the destination and
        the wanted one.
        """

    def may_alter_table(
        self, table: Table, previous: Table | None, types: Mapping[str, tuple[str, str]]
    ) -> bool:
        """Return whether `alter_table` may change a table with these arguments, without reading the table."""
        del table, previous, types
        return True

    @abstractmethod
    def run_ddl(self, table: str, change: Callable[[], Result]) -> Result:
        """Run statements that change no row, and retry them on a conflict with another writer."""

    def displayable_location(self) -> str:
        """Return the folder of the dataset or its name in a catalog, without credentials."""
        return super().displayable_location() if self.is_by_path else f"{self.config}.{self.dataset_name}"

    def table_names(self) -> tuple[str, ...]:
        """Return the existing data tables; in a catalog those for which any schema has seen rows."""
        if self.is_by_path:
            return self.path_table_names()
        return tuple(sorted(name for name, table in self.all_tables().items() if table.has_seen_data))

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Create the schema and the ledger if they do not exist; truncate the given tables."""
        if self._spark is not None:
            self.tables.initialize(spark=self._spark)
        self.ledger().initialize()
        for table in truncate_tables or ():
            if self.tables.exists(table, spark=self.session()):
                self.tables.truncate(table, spark=self.session())

    def drop_tables(self, *tables: str) -> None:
        """Drop those of the tables that exist."""
        for table in tables:
            self.tables.drop(table, spark=self.session())

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Create missing tables and columns, widen columns and apply changed hints; return the update.

        The tables at the destination decide: another writer may have applied `expected_update`.
        """
        del expected_update
        names = self._data_tables(only_tables)
        self._refuse_impossible_loads(names)
        previous = self.previous_tables()
        changed = {name: self._migrate(name, previous.get(name)) for name in names}
        return self._updates(changed)

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Apply changed hints and types now; leave tables and columns that get rows to their commits.

        Only tables of the expected update are looked up: a load that changes no schema reads none of them.
        """
        self._refuse_impossible_loads(tables)
        existing = self._existing_among(expected_update)
        changed: dict[str, frozenset[str]] = {}
        by_commits: dict[str, frozenset[str]] = {}
        for name in tables:
            table, expected = self.schema.get_table(name), expected_update.get(name)
            is_recreated = renewal_of(name, self.schema.tables) == "table"
            if expected is not None and name in with_rows:
                exists = name in existing and not is_recreated
                missing = missing_columns(table, self._struct(name)) if exists else None
                columns = expected["columns"] if missing is None else {path[0] for path in missing}
                by_commits[name] = frozenset(columns)
            elif expected is not None and table.has_seen_data and not is_recreated:
                changed[name] = self._migrate(name, stored_tables.get(name))
                continue
            # A recreated table gets its hints from the commit that recreates it.
            if not is_recreated:
                changed[name] = self._alter(table, stored_tables.get(name))
        return PreparedTables(applied=self._updates(changed), by_commits=self._updates(by_commits))

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Commit one table, and return the finished job."""
        return self._load(table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Repeat a job; commits that an earlier attempt made are skipped."""
        return self._load(ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the newest version; None if the table does not exist."""
        return self.tables.version(table, spark=spark) if self.tables.exists(table, spark=spark) else None

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session."""
        return self.tables.read(table, version, spark=spark)

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """Return the commits to a table, newest first."""
        return self.tables.commits(table, most, spark=spark) if self.tables.exists(table, spark=spark) else ()

    def sql_name(self, table: str) -> str:
        """Return the name of a table in Spark SQL."""
        return self.tables.sql_name(table)

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """Return the commit of a load that is still in effect, from the history of the table."""
        return self.tables.to_undo(table, mark, spark=self.session())

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Restore the version before a job by one commit; raise if the table changed since."""
        if applied.version_after is not None:
            self.tables.undo(applied, load_id, spark=self.session())

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect."""
        if applied.version_after is not None:
            self.tables.verify(applied, mark, spark=self.session())

    def fence(self, table: str, mark: LoadMark) -> None:
        """Refuse later commits of an aborted load, if the table exists."""
        self.tables.fence(table, mark, spark=self.session())

    def plan_restore(self, table: str, version: int | None, own_loads: Container[str]) -> TableRestore:
        """Return what the restore of a version would do, from the history of the table."""
        return self.tables.plan_restore(table, version, own_loads, spark=self.session())

    def restore(self, planned: TableRestore, mark: LoadMark, *, overwrites: bool) -> AppliedJob:
        """Restore a version by one commit with the mark of the load of the undo."""
        return self.tables.restore(planned, mark, overwrites=overwrites, spark=self.session())

    def existing_tables(self, tables: Iterable[str]) -> list[str]:
        """Return those of the tables that exist here; a load may also write tables of another format."""
        return [name for name in tables if self.tables.exists(name, spark=self.session())]

    def count_changes(self, load: UnsealedLoad) -> Sequence[TableChanges]:
        """Return the changes of each table that the load would commit to; Spark counts what is not known."""
        jobs = {name: ParsedLoadJobFileName.parse(path).file_name() for name, path in load.job_paths.items()}
        roots = dict.fromkeys(root_table(name, self.schema.tables).name for name in jobs)
        credentials = self.config.storage_credentials
        chains = [
            ChainChanges(
                root=root,
                schema=self.schema.tables,
                staged=StagedPackage(next(iter(load.job_paths.values())), credentials, load.mark, jobs),
                target=self.tables,
                chain_locks=self._chain_locks,
                spark=self.session(),
                default_strategy=self._default_strategy,
                row_counts=load.rows,
            )
            for root in roots
        ]
        return count_changes(chains)

    def table_states(self, tables: Iterable[str]) -> Mapping[str, TableState]:
        """Return the versions of those of the tables that exist."""
        session = self.session()
        versions = {name: self.table_version(name, spark=session) for name in tables}
        return {
            name: TableState(version=version) for name, version in versions.items() if version is not None
        }

    def _data_tables(self, only_tables: Iterable[str] | None) -> list[str]:
        """Return the names of tables; by default of all data tables with a column."""
        if only_tables is None:
            return [table.name for table in self.schema.data_tables()]
        return [name for name in only_tables if self.schema.get_table(name).complete_columns()]

    def _refuse_impossible_loads(self, tables: Iterable[str]) -> None:
        """Raise an error for names that are too long, and for hints that no load can follow."""
        names = list(tables)
        self.verify_schema(names)
        for root in {root_table(name, self.schema.tables).name for name in names}:
            plan_chain(root, self.schema.tables, with_rows=names, default_strategy=self._default_strategy)

    def _existing_among(self, tables: Iterable[str]) -> frozenset[str]:
        """Return those of the tables that exist; folders that do not exist are not looked into."""
        names = list(tables)
        if names and self.is_by_path:
            folders = frozenset(self.store.names(""))
            names = [name for name in names if name in folders]
        return frozenset(self.existing_tables(names))

    def _migrate(self, name: str, previous: Table | None) -> frozenset[str]:
        """Create a table, or add and widen columns; return these columns."""
        table, spark = self.schema.get_table(name), self.session()
        changed: set[str] = set()
        if not self.tables.exists(name, spark=spark):
            self.run_ddl(name, lambda: self.tables.create(table, spark=spark))
            changed.update(column.name for column in table.complete_columns())

        def alter() -> None:
            # Also of a new table: another writer may have created it first, with other columns.
            struct = self._struct(name)
            if missing := missing_columns(table, struct):
                spark.sql(add_columns_statement(self.tables.sql_name(name), missing))
                changed.update(path[0] for path in missing)
            changed.update(self.alter_table(table, previous, differing_types(table, struct)))

        self.run_ddl(name, alter)
        return frozenset(changed)

    def _alter(self, table: Table, previous: Table | None) -> frozenset[str]:
        types = changed_types(previous, table) if previous else {}
        if not self.may_alter_table(table, previous, types):
            return frozenset()
        return self.run_ddl(table.name, lambda: self.alter_table(table, previous, types))

    def _struct(self, table: str) -> dict[str, Any]:
        """Return the columns of an existing table as Spark writes them in JSON."""
        return self.tables.read(table, spark=self.session()).schema.jsonValue()

    def _updates(self, columns: Mapping[str, Collection[str]]) -> TSchemaTables:
        """Return tables with some of their columns; tables without any are left out."""
        return {
            name: self.schema.get_table(name).without_extras(RENEW).with_only_columns(names).to_dict()
            for name, names in columns.items()
            if names
        }

    def _load(self, table: str, file_path: str) -> LoadJob:
        """Commit the rows of a job file; with a root also the nested tables that get no rows."""
        job = TableLoadJob(file_path)
        with job.partial_failure():
            root = root_table(table, self.schema.tables)
            is_renewed = renewal_of(root.name, self.schema.tables) is not None
            if (root.write_disposition or "append") == "append" and not is_renewed:
                job.record(self._append(table, file_path))
            else:
                chain = self._chain_load(root.name, file_path)
                for step in chain.plan.steps_for(table, chain.staged.tables):
                    if (applied := chain.commit(step)) is not None:
                        job.record(applied)
        return job

    def _append(self, table: str, file_path: str) -> AppliedJob:
        staged = read_job(file_path, mark=self.load_mark, credentials=self.config.storage_credentials)
        if staged.mark is None:
            raise InternalError(f"{file_path} is not part of a sealed load", hint="report this")
        spark, target = self.session(), self.schema.get_table(table)
        files = JobFiles.of_job(staged, self.config.storage_credentials)
        if files is not None:
            applied = self.tables.commit_job_files(
                target, files, staged.mark, replaces_rows=False, spark=spark
            )
            if applied is not None:
                return applied
        return self.tables.append(target, staged.frame(spark), staged.mark, spark=spark)

    def _chain_load(self, root: str, file_path: str) -> ChainLoad:
        return ChainLoad(
            root=root,
            schema=self.schema.tables,
            staged=StagedPackage(file_path, self.config.storage_credentials, self.load_mark),
            target=self.tables,
            chain_locks=self._chain_locks,
            spark=self.session(),
            default_strategy=self._default_strategy,
        )

    @property
    def _default_strategy(self) -> MergeStrategy:
        return cast("MergeStrategy", self.capabilities.supported_merge_strategies[0])
