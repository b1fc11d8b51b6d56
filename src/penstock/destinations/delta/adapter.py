"""Delta tables of one dataset, opened for a load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.delta.addressing import CatalogTables, PathTables
from penstock.destinations.delta.alter import alter_table
from penstock.destinations.delta.maintenance import DeltaMaintenance
from penstock.destinations.delta.run import DeltaTables
from penstock.destinations.lake.client import LakeClient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.delta.settings import DeltaConfiguration
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.schema import Schema, Table


class DeltaClient(LakeClient):
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
        name = self.dataset_name
        self._tables = DeltaTables(
            addressing=CatalogTables(catalog=config.catalog, dataset=name)
            if config.catalog
            else self._path_tables,
            properties=config.properties,
            file_size=config.target_file_size,
        )

    @property
    def tables(self) -> DeltaTables:
        """The tables of the dataset."""
        return self._tables

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        if self._settings.catalog:
            self.tables.addressing.drop_all(spark=self.session())
        self.store.delete("")

    def alter_table(self, table: Table, previous: Table | None) -> None:
        """Set properties, widen types and cluster anew; new columns come with the rows that bring them."""
        alter_table(self.tables, table, previous, spark=self.session())

    def complete_load(self, load_id: str) -> None:
        """The row in the ledger is the mark, and it is there; what is left is to keep the tables in order."""
        upkeep = DeltaMaintenance(
            tables=self.tables, optimize=self._settings.optimize, vacuum_hours=self._settings.vacuum_hours
        )
        if upkeep.is_enabled:
            done = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
            upkeep.run(self.existing_tables(done.tables if done else ()), load_id, spark=self.session())

    def displayable_location(self) -> str:
        """The folder of the dataset or its name in a catalog, without credentials."""
        if self._settings.catalog:
            return f"{self.config}.{self.dataset_name}"
        return super().displayable_location()

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here; in a catalog those that any schema has seen rows of."""
        if not self._settings.catalog:
            return self._path_tables.table_names()
        return tuple(sorted(name for name, table in self.all_tables().items() if table.has_seen_data))
