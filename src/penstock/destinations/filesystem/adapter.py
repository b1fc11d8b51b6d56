"""A bucket opened for one dataset: each table goes to the client of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.filesystem.plain_client import PLAIN_TABLE_FORMATS, PlainClient
from penstock.destinations.iceberg.adapter import IcebergClient
from penstock.destinations.lake.dataset import DatasetClient
from penstock.errors import UsageError
from penstock.interfaces import ParsedLoadJobFileName, WithTableDrop, WithTableVersions, WithUndo
from penstock.schema import root_table
from penstock.spark.session import check_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.settings import FilesystemConfiguration
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import (
        AppliedJob,
        DestinationCapabilitiesContext,
        LoadJob,
        LoadMark,
        TableCommit,
    )
    from penstock.schema import Schema, TSchemaTables, TTableSchema

    TableClient = PlainClient | DeltaClient | IcebergClient


class FilesystemClient(DatasetClient, WithTableVersions, WithTableDrop, WithUndo):
    """Tables of several kinds in one dataset, with one ledger: each says its kind by its table format."""

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
        """The client of each table format; without one a table is plain files."""
        self._is_delta_checked = False
        if config.iceberg_configuration is not None:
            self.clients["iceberg"] = IcebergClient(
                schema, config.iceberg_configuration, capabilities, spark=spark, chain_locks=chain_locks
            )

    def client_for(self, table: str) -> TableClient:
        """The client of a table: by what its root says in the schema of the load, or in the stored one."""
        tables = self.schema.tables if table in self.schema.tables else self.plain.known_tables
        said = root_table(table, tables).extras.get("table_format") if table in tables else None
        if said not in self.clients:
            raise UsageError(
                f"table {table} is to be an {said} table, and no catalog is set for those",
                hint="name one, such as filesystem(bucket_url=…, iceberg={'catalog': 'hadoop'})",
                table=table,
            )
        return self.clients[said]

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make room for tables of every kind; the listed ones are emptied."""
        named = list(truncate_tables or ())
        for kind in self._all_clients():
            kind.initialize_storage([table for table in named if self.client_for(table) is kind])

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        for kind in self._all_clients():
            kind.drop_storage()

    def drop_tables(self, *tables: str) -> None:
        """Take tables away; what is not there is gone already."""
        for table in tables:
            self.client_for(table).drop_tables(table)

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Bring the tables of each kind up to the schema, once none of them is refused."""
        named = list(self.schema.tables if only_tables is None else only_tables)
        if self._spark is not None:
            for table in named:
                self._ready_client(table, self._spark)
        applied: TSchemaTables = {}
        for kind in self._all_clients():
            owned = [table for table in named if self.client_for(table) is kind]
            if owned:
                update = {name: told for name, told in (expected_update or {}).items() if name in owned}
                applied |= kind.update_stored_schema(owned, update) or {}
        return applied

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Start a job with the client of its table."""
        return self.client_for(table["name"]).start_file_load(table, file_path, load_id)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Find a job with the client of its table."""
        return self.client_for(ParsedLoadJobFileName.parse(file_path).table_name).restore_file_load(file_path)

    def complete_load(self, load_id: str) -> None:
        """Let each kind tidy up after the load."""
        for kind in self._all_clients():
            kind.complete_load(load_id)

    def table_names(self) -> tuple[str, ...]:
        """The tables of all kinds."""
        return tuple(sorted({name for kind in self._all_clients() for name in kind.table_names()}))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The newest version, in the numbers of its kind."""
        return self._ready_client(table, spark).table_version(table, spark=spark)

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """The commits to a table, newest first."""
        return self._ready_client(table, spark).commits(table, most=most, spark=spark)

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        return self._ready_client(table, spark).read(table, version, spark=spark)

    def sql_name(self, table: str) -> str | None:
        """How Spark SQL calls a table; plain files have no name."""
        return self.client_for(table).sql_name(table)

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """What a load did to a table."""
        return self.client_for(table).to_undo(table, mark)

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Bring a table back to what it was before a job."""
        self.client_for(applied.table).undo(applied, load_id)

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise unless a table still shows what a job of a load wrote."""
        self.client_for(applied.table).verify(applied, mark)

    def fence(self, table: str, mark: LoadMark) -> None:
        """Refuse commits of an aborted load from now on."""
        self.client_for(table).fence(table, mark)

    def _ready_client(self, table: str, spark: SparkSession) -> TableClient:
        """The client of a table, if the session knows its kind."""
        kind = self.client_for(table)
        # All sessions of one Spark have what it was started with: the first one answers for all.
        if kind is self.clients["delta"] and not self._is_delta_checked:
            check_format(spark, "delta")
            self._is_delta_checked = True
        return kind

    def _all_clients(self) -> tuple[TableClient, ...]:
        # Plain files first: what they refuse is refused before a table of another kind is changed.
        return tuple(dict.fromkeys((self.plain, *self.clients.values())))
