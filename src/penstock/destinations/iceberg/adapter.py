"""Iceberg tables of one dataset, opened for a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.destinations.iceberg.alter import alter_table
from penstock.destinations.iceberg.catalog import IcebergCatalog
from penstock.destinations.iceberg.commit_metadata import branch_name
from penstock.destinations.iceberg.maintenance import IcebergMaintenance, PublishedLoad
from penstock.destinations.iceberg.run import IcebergTables
from penstock.destinations.lake.client import LakeClient
from penstock.interfaces import LoadMark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.settings import IcebergConfiguration
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.schema import Schema, Table

_TABLE_MARKERS: Final = ("version-hint.text", "v1.metadata.json")
"""A table by path has one of these: a name, which needs no session. Nobody looks into these files."""


class IcebergClient(LakeClient):
    """A lake of Iceberg tables opened for one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: IcebergConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
        chain_locks: ChainLocks | None = None,
    ) -> None:
        config.check_warehouse()
        super().__init__(
            schema, config, capabilities, bucket_url=config.bucket_url, spark=spark, chain_locks=chain_locks
        )
        self._settings = config
        place = IcebergCatalog(
            catalog=config.session_catalog_name,
            dataset=self.dataset_name,
            conf=config.session_conf(),
            is_managed=config.is_managed,
        )
        self._tables = IcebergTables(
            addressing=place,
            properties=config.properties,
            commit_mode=config.commits,
            previous_tables=self.previous_tables,
        )

    @property
    def tables(self) -> IcebergTables:
        """The tables of the dataset."""
        return self._tables

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        if not self._settings.is_by_path:
            self.tables.drop_all(spark=self.session())
        self.store.delete("")

    def alter_table(self, table: Table, previous: Table | None) -> None:
        """Set properties and widen types; new columns are added by the load that brings them."""
        alter_table(self.tables, table, previous, spark=self.session())

    def complete_load(self, load_id: str) -> None:
        """The row in the ledger is the mark; what is left is to let branches go and to tidy up."""
        done = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
        if done is None or done.pipeline_name is None or done.sequence is None:
            return
        mark = LoadMark(
            pipeline_name=done.pipeline_name,
            sequence=done.sequence,
            load_id=done.load_id,
            manifest_hash=done.manifest_hash or "",
        )
        load = PublishedLoad(
            mark=mark,
            branch=branch_name(mark) if self._settings.commits == "branch" else None,
            versions={name: told.get("after") for name, told in done.tables.items()},
        )
        upkeep = IcebergMaintenance(
            catalog=self.tables.addressing,
            read_lineage=self.tables.read_lineage,
            optimize=self._settings.optimize,
            expire_hours=self._settings.expire_hours,
        )
        upkeep.run(self.existing_tables(done.tables), load, spark=self.session())

    def displayable_location(self) -> str:
        """The folder of the dataset or its name in a catalog, without credentials."""
        return (
            super().displayable_location()
            if self._settings.is_by_path
            else f"{self.config}.{self.dataset_name}"
        )

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here; in a catalog those that any schema has seen rows of."""
        if self._settings.is_by_path:
            return tuple(name for name in self.store.names("") if self._is_table(name))
        return tuple(sorted(name for name, table in self.all_tables().items() if table.has_seen_data))

    def _is_table(self, name: str) -> bool:
        return any(self.store.exists(f"{name}/metadata/{sign}") for sign in _TABLE_MARKERS)
