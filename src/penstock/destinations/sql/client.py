"""The client of an SQL database: jobs put rows into staging, and one transaction commits a whole load."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from sqlglot import exp

from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.sql.chain_statements import ChainStatements
from penstock.destinations.sql.change_counts import ChangeCounter
from penstock.destinations.sql.ddl import (
    add_column,
    column_definition,
    create_table,
    create_temporary_table,
    drop_table,
)
from penstock.destinations.sql.dialect import identifier
from penstock.destinations.sql.ledger import SqlLedger
from penstock.destinations.sql.load_transaction import LoadTransaction, drop_temporary_tables
from penstock.destinations.sql.row_undo import plan_row_undo
from penstock.destinations.sql.run import staged_batches, staged_columns, write_staged_files
from penstock.destinations.sql.staging import POSITION, StagedTable
from penstock.interfaces import (
    RENEW,
    JobClientBase,
    LoadJob,
    ParsedLoadJobFileName,
    PreparedTables,
    TableState,
    WithAtomicCommit,
    WithChangeCounts,
    WithLedger,
    WithRowUndo,
    WithStateSync,
    WithTableDrop,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
    renewal_of,
)
from penstock.interfaces.sql_client import WithSqlSession
from penstock.package import read_job
from penstock.package.file_ledger import SYSTEM_TABLE_NAMES
from penstock.schema import Table, root_table
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeStrategy
    from penstock.destinations.sql.connection import SqlConnection, SqlDatabase
    from penstock.destinations.sql.dialect import DatasetNames
    from penstock.interfaces import (
        AppliedJob,
        DestinationCapabilitiesContext,
        DestinationClientDwhConfiguration,
        LoadCommit,
        LoadMark,
        StateInfo,
        StorageSchemaInfo,
        TableChanges,
        TableRestore,
        TLoadJobState,
        UnsealedLoad,
    )
    from penstock.package import JobFile
    from penstock.schema import Column, Schema, TSchemaTables, TTableSchema

_STAGED_ROWS: Final = "_penstock_rows_"


class StagingJob(LoadJob):
    """A job whose rows are in staging."""

    def state(self) -> TLoadJobState:
        """Return `completed`: errors were raised."""
        return "completed"

    def exception(self) -> str:
        """Return an empty text."""
        return ""


class SqlClient(
    JobClientBase,
    WithAtomicCommit,
    WithLedger,
    WithRowUndo,
    WithStateSync,
    WithTableDrop,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
    WithSqlSession,
    WithChangeCounts,
):
    """A dataset of a database, opened for one schema.

    The transaction of a load inserts its rows from the files of the package, over the connection of the
    driver. A database that has a faster way overrides `stage_rows`, `staged_table` and `drop_staging`, and
    one that Spark reads by itself overrides `read`.
    """

    def __init__(
        self,
        schema: Schema,
        config: DestinationClientDwhConfiguration,
        capabilities: DestinationCapabilitiesContext,
        database: SqlDatabase,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self.database, self.spark = database, spark
        self.dataset_name = config.normalize_dataset_name(schema)

    @property
    def names(self) -> DatasetNames:
        """The names of the dataset."""
        return self.database.names(self.dataset_name)

    # --- what a database may do in a better way

    def stage_rows(self, job: JobFile, table: Table) -> None:
        """Put the rows of a job where `staged_table` finds them: in files of its package. Idempotent.

        Nothing that readers see is changed. Calls for several tables of a load may run at the same time.
        """
        credentials, with_position = self.config.storage_credentials, self.is_merged(table.name)
        write_staged_files(job, self.spark, credentials, with_position=with_position)

    def staged_table(self, connection: SqlConnection, job: JobFile, table: Table) -> StagedTable:
        """Return the staged rows of a job, over the connection with the transaction of the load.

        Here they are inserted into a temporary table, a file at a time.
        """
        credentials, has_position = self.config.storage_credentials, self.is_merged(table.name)
        names = staged_columns(job, table, credentials)
        staged = exp.Table(this=identifier(f"{_STAGED_ROWS}{job.name.file_id}"))
        connection.execute(self._empty_copy(staged.name, table, names))
        for columns, batches in staged_batches(job, names, credentials, has_position=has_position):
            insert = exp.insert(
                exp.values([tuple(exp.Placeholder() for _ in columns)]),
                staged.copy(),
                columns=[identifier(name) for name in columns],
            )
            for batch in batches:
                values = [batch.column(name).to_pylist() for name in columns]
                connection.execute_many(insert, zip(*values, strict=True))
        return StagedTable(relation=staged, columns=names, is_temporary=True)

    def drop_staging(self, load_id: str) -> None:
        """Drop the staging of a load that is complete or aborted, if it exists."""
        del load_id

    def column_definition(self, column: Column, table: Table) -> exp.ColumnDef:
        """Return the definition of a column; a database may add constraints."""
        return column_definition(column, table, self.database.dialect)

    # --- loads

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Put the rows of a job into staging, and return the finished job."""
        del load_id
        return self._stage(table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Put the rows of a job into staging again."""
        return self._stage(ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def commit_load(self, load: LoadCommit) -> Sequence[AppliedJob] | None:
        """Commit a load in one transaction, and drop its staging."""
        with self.database.connect() as connection, connection.transaction():
            self.database.begin_load(connection, self.names, load.record.pipeline_name or "")
            applied = LoadTransaction(
                connection=connection,
                names=self.names,
                tables={name: with_typed_id(table) for name, table in self.schema.tables.items()},
                source=self,
                default_strategy=self._default_strategy,
            ).run(load)
        self.drop_staging(load.record.load_id)
        return applied

    def count_changes(self, load: UnsealedLoad) -> Sequence[TableChanges]:
        """Return the changes of each table, counted over staged rows, which are dropped afterwards."""
        jobs = {
            name: read_job(path, mark=load.mark, credentials=self.config.storage_credentials)
            for name, path in load.job_paths.items()
        }
        tables = {name: with_typed_id(table) for name, table in self.schema.tables.items()}
        try:
            for name, job in jobs.items():
                self.stage_rows(job, self.schema.get_table(name))
            with self.database.connect() as connection, connection.transaction():
                staged = self.staged_tables(connection, jobs)
                changes = self._count_over(connection, tables, staged, load)
                drop_temporary_tables(connection, staged.values())
                return changes
        finally:
            self.drop_staging(load.mark.load_id)

    def _count_over(
        self,
        connection: SqlConnection,
        tables: Mapping[str, Table],
        staged: Mapping[str, StagedTable],
        load: UnsealedLoad,
    ) -> list[TableChanges]:
        live, counter = connection.live_columns(self.names), ChangeCounter(connection, self.names)
        recreated = {name for name in staged if name in live and renewal_of(name, tables) == "table"}
        changes: list[TableChanges] = []
        for root in dict.fromkeys(root_table(name, tables).name for name in staged):
            plan = plan_chain(root, tables, with_rows=staged.keys(), default_strategy=self._default_strategy)
            chain = ChainStatements(
                plan=plan,
                tables=tables,
                staged=staged,
                # A table without a column that rows are matched by has no row that matches.
                existing={
                    step.table
                    for step in plan.steps
                    if step.table in live.keys() - recreated and {*step.match} <= {*live[step.table]}
                },
                names=self.names,
                dialect=connection.dialect,
                created_at=load.created_at,
            )
            changes += counter.count_changes(chain)
        dropped_rows = counter.count_rows(recreated)
        return [replace(change, deleted=dropped_rows.get(change.table, change.deleted)) for change in changes]

    def staged_tables(self, connection: SqlConnection, jobs: Mapping[str, JobFile]) -> dict[str, StagedTable]:
        """Return the staged rows of jobs, by table."""
        tables = self.schema.tables
        return {name: self.staged_table(connection, job, tables[name]) for name, job in jobs.items()}

    def table_states(self, tables: Iterable[str]) -> dict[str, TableState]:
        """Return the numbers of rows of those of the tables that exist."""
        with self.database.connect() as connection, connection.transaction():
            live = connection.live_columns(self.names)
            rows = ChangeCounter(connection, self.names).count_rows(name for name in tables if name in live)
        return {name: TableState(rows=count) for name, count in rows.items()}

    def complete_load(self, load_id: str) -> None:
        """Drop the staging of a load; a process may have died right after the commit."""
        self.drop_staging(load_id)

    def open_job(self, path: str) -> JobFile:
        """Return the job of a file, with the credentials of its package."""
        return read_job(path, credentials=self.config.storage_credentials)

    def is_merged(self, table: str) -> bool:
        """Return whether rows of a table are merged, so that their positions count."""
        return root_table(table, self.schema.tables).write_disposition == "merge"

    def _stage(self, table: str, file_path: str) -> LoadJob:
        name = ParsedLoadJobFileName.parse(file_path).file_name()
        self.stage_rows(self.open_job(file_path), self.schema.get_table(table))
        return StagingJob(name)

    def _empty_copy(self, name: str, table: Table, columns: Iterable[str]) -> exp.Create:
        """Return the statement that creates a temporary table with columns of a table, and the position."""
        dialect = self.database.dialect
        types = {name: dialect.type_of(table.columns[name], table) for name in columns}
        types[POSITION] = exp.DataType.build("text")
        values = [
            exp.alias_(exp.Cast(this=exp.null(), to=kind), column_name, quoted=True)
            for column_name, kind in types.items()
        ]
        return create_temporary_table(name, exp.select(*values).where(exp.false()))

    @property
    def _default_strategy(self) -> MergeStrategy:
        return cast("MergeStrategy", self.capabilities.supported_merge_strategies[0])

    # --- tables

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Create the schema of the dataset if it does not exist; truncate the given tables."""
        with self.database.connect() as connection, connection.transaction():
            connection.create_dataset(self.names)
            live = connection.live_columns(self.names)
            for table in truncate_tables or ():
                if table in live:
                    connection.execute(exp.delete(self.names.table(table)))

    def is_storage_initialized(self) -> bool:
        """Return whether anything was ever loaded."""
        return self.ledger().is_initialized()

    def drop_storage(self) -> None:
        """Drop the schema of the dataset with all its tables."""
        with self.database.connect() as connection, connection.transaction():
            connection.drop_dataset(self.names)

    def drop_tables(self, *tables: str) -> None:
        """Drop those of the tables that exist."""
        with self.database.connect() as connection, connection.transaction():
            for table in tables:
                connection.execute(drop_table(self.names.table(table)))

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Create missing tables and columns; return what was created."""
        del expected_update
        names = [table.name for table in self.schema.data_tables()] if only_tables is None else [*only_tables]
        self._refuse_impossible_loads(names)
        with self.database.connect() as connection, connection.transaction():
            connection.create_dataset(self.names)
            tables = [with_typed_id(self.schema.get_table(name)) for name in names]
            created = self.create_tables(connection, tables)
        return self._updates(created)

    def create_tables(self, connection: SqlConnection, tables: Iterable[Table]) -> dict[str, list[str]]:
        """Create the tables and columns that do not exist; return the columns that were created, by table."""
        live, created = connection.live_columns(self.names), dict[str, list[str]]()
        for table in tables:
            columns, address = table.complete_columns(), self.names.table(table.name)
            existing = live.get(table.name, ())
            missing = [column for column in columns if column.name not in existing]
            definitions = [self.column_definition(column, table) for column in missing]
            if table.name not in live and definitions:
                connection.execute(create_table(address, definitions))
            elif table.name in live:
                for definition in definitions:
                    # Existing rows have no value, whatever the column accepts.
                    definition.set("constraints", [])
                    connection.execute(add_column(address, definition))
            if missing:
                created[table.name] = [column.name for column in missing]
        return created

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Refuse what no load can do, and leave all changes to the commit; what exists is no change."""
        del stored_tables
        self._refuse_impossible_loads(tables)
        with self.database.connect() as connection:
            live = connection.live_columns(self.names)
        by_commits: TSchemaTables = {}
        for name, update in expected_update.items():
            is_recreated = renewal_of(name, self.schema.tables) == "table"
            existing = () if is_recreated else live.get(name, ())
            missing = Table.from_dict(update, name=name).without_columns(*existing)
            has_rows = name in with_rows or self.schema.get_table(name).has_seen_data
            if has_rows and missing.columns:
                by_commits[name] = missing.to_dict()
        return PreparedTables(applied={}, by_commits=by_commits)

    def _refuse_impossible_loads(self, tables: Iterable[str]) -> None:
        """Raise an error for names that are too long, and for hints that no load can follow."""
        names = list(tables)
        self.verify_schema(names)
        for root in {root_table(name, self.schema.tables).name for name in names}:
            plan_chain(root, self.schema.tables, with_rows=names, default_strategy=self._default_strategy)

    def _updates(self, columns: dict[str, list[str]]) -> TSchemaTables:
        return {
            name: self.schema.get_table(name).without_extras(RENEW).with_only_columns(created).to_dict()
            for name, created in columns.items()
        }

    # --- what is stored

    def ledger(self) -> SqlLedger:
        """Return the ledger: the system tables of the dataset."""
        return SqlLedger(self.database, self.dataset_name)

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """Return the newest stored version of the client's schema."""
        return self.ledger().last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""
        return self.ledger().last_state(pipeline_name)

    def table_names(self) -> tuple[str, ...]:
        """Return the data tables of the dataset."""
        with self.database.connect() as connection:
            live = connection.live_columns(self.names)
        return tuple(name for name in live if name not in SYSTEM_TABLE_NAMES)

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return None: tables have no versions."""
        return None

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a copy of a table."""
        del version
        with self.database.connect() as connection:
            rows = connection.query_rows(exp.select("*").from_(self.names.table(table)))
        return spark.createDataFrame(rows)

    @property
    def sql_dialect(self) -> str:
        """The dialect, by the name that sqlglot has for it."""
        return self.database.dialect.name

    @property
    def sql_dataset_name(self) -> str:
        """The quoted name of the dataset, with its database where statements need it."""
        return self.database.dialect.text(self.names.schema)

    @contextmanager
    def sql_session(self) -> Iterator[SqlConnection]:
        """Open a connection for a block, with the tables of the dataset by their bare names."""
        with self.database.connect() as connection:
            connection.use(self.names)
            yield connection

    def plan_row_undo(
        self, table: str, load_ids: Sequence[str], *, is_created: bool, rows: int | None
    ) -> TableRestore:
        """Return what the undo of loads does to a table."""
        with self.database.connect() as connection:
            return plan_row_undo(
                connection,
                self.names,
                self.schema.tables,
                table,
                load_ids,
                is_created=is_created,
                rows=rows,
            )

    # --- aborts: before its commit a load has changed nothing but staging

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """Return None: no job has changed a table."""
        return None

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Do nothing: rows of a job are in no table before the commit."""

    def fence(self, table: str, mark: LoadMark) -> None:
        """Drop the staging of an aborted load, which cannot be committed any more."""
        self.drop_staging(mark.load_id)


def with_typed_id(table: Table) -> Table:
    """Return a table whose row ids have a type: with history they are declared without one."""
    row_id = table.columns.get(ID_COLUMN)
    if row_id is None or row_id.is_complete:
        return table
    return table.with_columns([row_id.with_hints(data_type="text")])
