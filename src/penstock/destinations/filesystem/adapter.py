"""The client of a bucket: each table is delegated to the client of its table format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.filesystem.plain_client import PLAIN_TABLE_FORMATS, PlainClient
from penstock.destinations.iceberg.adapter import IcebergClient
from penstock.destinations.lake.dataset import DatasetClient
from penstock.errors import UsageError
from penstock.interfaces import (
    ParsedLoadJobFileName,
    PreparedTables,
    WithChangeCounts,
    WithTableDrop,
    WithTableRestore,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
)
from penstock.schema import root_table
from penstock.spark.session import check_format

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.settings import FilesystemConfiguration
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import (
        AppliedJob,
        DestinationCapabilitiesContext,
        LoadJob,
        LoadMark,
        TableChanges,
        TableCommit,
        TableRestore,
        TableState,
        UnsealedLoad,
    )
    from penstock.schema import Schema, Table, TSchemaTables, TTableSchema

    TableClient = PlainClient | DeltaClient | IcebergClient


class FilesystemClient(
    DatasetClient,
    WithTablesByCommit,
    WithTableVersions,
    WithTableDrop,
    WithTableRestore,
    WithUndo,
    WithChangeCounts,
):
    """Tables of several formats in one dataset, with one ledger."""

    def __init__(
        self,
        schema: Schema,
        config: FilesystemConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
        chain_locks: ChainLocks | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities, bucket_url=config.bucket_url, spark=spark)
        self.plain = PlainClient(schema, config, capabilities, spark=spark)
        delta = DeltaClient(schema, config, capabilities, spark=spark, chain_locks=chain_locks)
        self.clients: dict[str | None, TableClient] = {
            **dict.fromkeys(PLAIN_TABLE_FORMATS, self.plain),
            "delta": delta,
        }
        """The client of each table format; None is the format of plain files."""
        self._is_delta_checked = False
        if config.iceberg_configuration is not None:
            self.clients["iceberg"] = IcebergClient(
                schema, config.iceberg_configuration, capabilities, spark=spark, chain_locks=chain_locks
            )

    def client_for(self, table: str) -> TableClient:
        """Return the client of a table, by the format of its root in the current or the stored schema."""
        tables = self.schema.tables if table in self.schema.tables else self.plain.known_tables
        table_format = root_table(table, tables).extras.get("table_format") if table in tables else None
        if table_format not in self.clients:
            raise UsageError(
                f"table {table} has the table format {table_format}, and no catalog is set for it",
                hint="set one, such as filesystem(bucket_url=…, iceberg={'catalog': 'hadoop'})",
                table=table,
            )
        client = self.clients[table_format]
        client.load_mark = self.load_mark
        return client

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Initialize the storage of every format; truncate the given tables."""
        names = list(truncate_tables or ())
        for client in self._all_clients():
            client.initialize_storage([table for table in names if self.client_for(table) is client])

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        for client in self._all_clients():
            client.drop_storage()

    def drop_tables(self, *tables: str) -> None:
        """Drop those of the tables that exist."""
        for table in tables:
            self.client_for(table).drop_tables(table)

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Apply the schema to the tables of each format, and return the update; plain tables have no DDL."""
        names = self.schema.tables if only_tables is None else only_tables
        applied: TSchemaTables = {}
        for client, owned in self._by_client(names):
            applied |= client.update_stored_schema(owned, expected_update) or {}
        return applied

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Prepare the tables of each format for a load."""
        applied: TSchemaTables = {}
        by_commits: TSchemaTables = {}
        for client, owned in self._by_client(tables):
            update = {name: table for name, table in expected_update.items() if name in owned}
            prepared = client.prepare_tables(
                owned, with_rows=with_rows, expected_update=update, stored_tables=stored_tables
            )
            applied |= prepared.applied
            by_commits |= prepared.by_commits
        return PreparedTables(applied=applied, by_commits=by_commits)

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Start a job with the client of its table."""
        return self.client_for(table["name"]).start_file_load(table, file_path, load_id)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Restore a job with the client of its table."""
        return self.client_for(ParsedLoadJobFileName.parse(file_path).table_name).restore_file_load(file_path)

    def complete_load(self, load_id: str) -> None:
        """Complete the load in each format."""
        for client in self._all_clients():
            client.complete_load(load_id)

    def table_names(self) -> tuple[str, ...]:
        """Return the tables of all formats."""
        return tuple(sorted({name for client in self._all_clients() for name in client.table_names()}))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the newest version of a table; its meaning depends on the format."""
        return self._ready_client(table, spark).table_version(table, spark=spark)

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """Return the commits to a table, newest first."""
        return self._ready_client(table, spark).commits(table, most=most, spark=spark)

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session."""
        return self._ready_client(table, spark).read(table, version, spark=spark)

    def sql_name(self, table: str) -> str | None:
        """Return the name of a table in Spark SQL; None for plain files."""
        return self.client_for(table).sql_name(table)

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """Return the commit of a load that is still in effect."""
        return self.client_for(table).to_undo(table, mark)

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Restore the version of a table before a job."""
        self.client_for(applied.table).undo(applied, load_id)

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect."""
        self.client_for(applied.table).verify(applied, mark)

    def is_overwritten(self, applied: AppliedJob, mark: LoadMark) -> bool:
        """Return whether another writer has overwritten the commit of a job."""
        return self.client_for(applied.table).is_overwritten(applied, mark)

    def fence(self, table: str, mark: LoadMark) -> None:
        """Refuse later commits of an aborted load."""
        self.client_for(table).fence(table, mark)

    def plan_restore(self, table: str, version: int | None, own_loads: Container[str]) -> TableRestore:
        """Return what the restore of a version would do."""
        return self.client_for(table).plan_restore(table, version, own_loads)

    def restore(self, planned: TableRestore, mark: LoadMark, *, overwrites: bool) -> AppliedJob:
        """Restore a version of a table."""
        return self.client_for(planned.table).restore(planned, mark, overwrites=overwrites)

    def count_changes(self, load: UnsealedLoad) -> Sequence[TableChanges]:
        """Return the changes of the tables of each format."""
        return [
            changes
            for client, owned in self._by_client(load.job_paths)
            for changes in client.count_changes(load.with_only_tables(owned))
        ]

    def table_states(self, tables: Iterable[str]) -> Mapping[str, TableState]:
        """Return the states of the existing tables of each format."""
        states: dict[str, TableState] = {}
        for client, owned in self._by_client(tables):
            states |= client.table_states(owned)
        return states

    def _by_client(self, tables: Iterable[str]) -> list[tuple[TableClient, list[str]]]:
        """Return the clients of tables, each with its tables; plain files first. Raise without a format."""
        names = list(tables)
        if self._spark is not None:
            for table in names:
                self._ready_client(table, self._spark)
        owned = (
            (client, [table for table in names if self.client_for(table) is client])
            for client in self._all_clients()
        )
        return [(client, names_of_client) for client, names_of_client in owned if names_of_client]

    def _ready_client(self, table: str, spark: SparkSession) -> TableClient:
        """Return the client of a table; raise if the session lacks its format."""
        client = self.client_for(table)
        # All sessions of one Spark have the same jars, so one check is enough.
        if client is self.clients["delta"] and not self._is_delta_checked:
            check_format(spark, "delta")
            self._is_delta_checked = True
        return client

    def _all_clients(self) -> tuple[TableClient, ...]:
        # Plain files first: they refuse a schema before a table of another format is altered.
        return tuple(dict.fromkeys((self.plain, *self.clients.values())))
