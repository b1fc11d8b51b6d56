"""The client of Delta tables: one dataset, opened for a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.destinations.delta.addressing import CatalogTables, PathTables
from penstock.destinations.delta.commit_gate import COMMIT_GATE
from penstock.destinations.delta.commit_marks import USER_METADATA
from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.delta.ddl import (
    cluster_columns,
    cluster_statement,
    table_properties,
    wider_types,
)
from penstock.destinations.delta.existing_tables import ExistingDeltaTables
from penstock.destinations.delta.history import SCHEMA_METADATA
from penstock.destinations.delta.maintenance import DeltaMaintenance
from penstock.destinations.delta.run import DeltaTables
from penstock.destinations.delta.small_reads import read_columns, read_small_table
from penstock.destinations.lake.client import LakeClient
from penstock.destinations.lake.ddl import (
    change_type_statement,
    changed_properties,
    set_properties_statement,
)
from penstock.destinations.lake.existing_tables import ExistingSparkTables
from penstock.interfaces import WithSmallTables
from penstock.interfaces.existing_tables import WithExistingTables
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.destinations.delta.settings import DeltaConfiguration
    from penstock.destinations.lake.conflicts import Result
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import AppliedJob, DestinationCapabilitiesContext, LoadMark
    from penstock.interfaces.existing_tables import ExistingTable
    from penstock.schema import Schema, Table


class DeltaClient(LakeClient, WithSmallTables, WithExistingTables):
    """A Delta lake opened for one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: DeltaConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
        chain_locks: ChainLocks | None = None,
    ) -> None:
        super().__init__(
            schema, config, capabilities, bucket_url=config.bucket_url, spark=spark, chain_locks=chain_locks
        )
        self._settings = config
        self._path_tables = PathTables(self.store)
        self._tables = DeltaTables(
            addressing=CatalogTables(catalog=config.catalog, dataset=self.dataset_name)
            if config.catalog
            else self._path_tables,
            properties=config.properties,
            file_size=config.target_file_size,
            commits_by_reference=config.commits_by_reference,
        )

    @property
    def tables(self) -> DeltaTables:
        """The tables of the dataset."""
        return self._tables

    @property
    def is_by_path(self) -> bool:
        """Whether tables are addressed by their folders."""
        return not self._settings.catalog

    def path_table_names(self) -> tuple[str, ...]:
        """Return the tables below the folder of the dataset."""
        return self._path_tables.table_names()

    def read_small_table(self, table: str, version: int | None = None) -> pa.Table | None:
        """Return all rows of a small table without Spark; None if Spark has to read it."""
        if not self.is_by_path:
            return None
        return read_small_table(self.store, table, version, self.config.storage_credentials)

    def describe_table(self, table: str) -> ExistingTable:
        """Return the current version of a table: by its log, or in a catalog by Spark."""
        return self._existing_tables.describe(table)

    def rows_at_maximum(self, table: ExistingTable, column: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows with the greatest value of `column`."""
        return self._existing_tables.rows_at_maximum(table, column, columns)

    @property
    def _existing_tables(self) -> ExistingDeltaTables | ExistingSparkTables:
        if not self.is_by_path:
            return ExistingSparkTables(tables=self.tables, spark=self.session())
        return ExistingDeltaTables(store=self.store, credentials=self.config.storage_credentials)

    def is_overwritten(self, applied: AppliedJob, mark: LoadMark) -> bool:
        """Return whether a version of a table has the commit of another writer instead of that of a job."""
        return self.tables.is_overwritten(applied, mark)

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        if not self.is_by_path:
            self.tables.addressing.drop_all(spark=self.session())
        self.store.delete("")

    def run_ddl(self, table: str, change: Callable[[], Result]) -> Result:
        """Run statements, and retry them on a conflict; readers and undo see that they change no row."""
        gate = COMMIT_GATE.statement(self.store.path(table))
        with temporary_conf(self.session(), {USER_METADATA: SCHEMA_METADATA}), gate:
            return retry_on_conflict(table, change)

    def may_alter_table(
        self, table: Table, previous: Table | None, types: Mapping[str, tuple[str, str]]
    ) -> bool:
        """Return whether a table has properties, or its types or clustering changed."""
        wanted = table_properties(table, self.tables.properties)
        return bool(wanted or types) or _may_be_reclustered(table, previous)

    def alter_table(
        self, table: Table, previous: Table | None, types: Mapping[str, tuple[str, str]]
    ) -> frozenset[str]:
        """Set changed properties, widen types and change the clustering; return the widened columns.

        New columns are added by the commit that writes them. The table is only read if it has properties or
        its types or clustering changed, so that a load of many tables does not query each of them.
        """
        spark = self.session()
        may_alter = self.may_alter_table(table, previous, types)
        if not may_alter or not self.tables.exists(table.name, spark=spark):
            return frozenset()
        wanted, clusters = table_properties(table, self.tables.properties), cluster_columns(table)
        name = self.tables.sql_name(table.name)
        current = self.tables.properties_of(table.name, spark=spark)
        if changed := changed_properties(current, wanted):
            spark.sql(set_properties_statement(name, changed))
        wider = wider_types(table.name, types, {**current, **wanted})
        for column, sql_type in wider.items():
            spark.sql(change_type_statement(name, column, sql_type))
        if (
            _may_be_reclustered(table, previous)
            and self.tables.clustering_of(table.name, spark=spark) != clusters
        ):
            spark.sql(cluster_statement(name, clusters))
        return frozenset(wider)

    def complete_load(self, load_id: str) -> None:
        """Run maintenance on the tables of the load; its row in the ledger is the completion marker."""
        maintenance = DeltaMaintenance(
            tables=self.tables, optimize=self._settings.optimize, vacuum_hours=self._settings.vacuum_hours
        )
        if maintenance.is_enabled:
            commit = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
            tables = self.existing_tables(commit.tables if commit else ())
            maintenance.run(tables, load_id, spark=self.session())

    def _struct(self, table: str) -> dict[str, Any]:
        if self._settings.commits_by_reference:
            columns = read_columns(self.store, table, self.config.storage_credentials)
            if columns is not None:
                return columns
        return super()._struct(table)


def _may_be_reclustered(table: Table, previous: Table | None) -> bool:
    clusters = cluster_columns(table)
    return bool(clusters) if previous is None else cluster_columns(previous) != clusters
