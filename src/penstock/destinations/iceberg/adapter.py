"""Iceberg tables of one dataset, opened for a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.destinations.iceberg.alter import bring_up_to_date
from penstock.destinations.iceberg.marks import branch_name
from penstock.destinations.iceberg.place import IcebergCatalog
from penstock.destinations.iceberg.run import IcebergTables
from penstock.destinations.iceberg.upkeep import Settled, Upkeep
from penstock.destinations.lake.client import LakeClient
from penstock.interfaces import LoadMark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.settings import IcebergConfiguration
    from penstock.destinations.lake.sets import Turns
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.schema import Schema, Table

_SIGNS: Final = ("version-hint.text", "v1.metadata.json")
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
        turns: Turns | None = None,
    ) -> None:
        config.check_warehouse()
        super().__init__(schema, config, capabilities, bucket_url=config.bucket_url, spark=spark, turns=turns)
        self._settings = config
        place = IcebergCatalog(
            catalog=config.name_in_sessions,
            dataset=self.dataset_name,
            conf=config.session_conf(),
            is_ours=config.is_ours,
        )
        self._tables = IcebergTables(
            place=place, properties=config.properties, way=config.commits, before=self.tables_before
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

    def bring_up_to_date(self, table: Table, before: Table | None) -> None:
        """Set properties and widen types; new columns are added by the load that brings them."""
        bring_up_to_date(self.tables, table, before, spark=self.session())

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
        load = Settled(
            mark=mark,
            branch=branch_name(mark) if self._settings.commits == "branch" else None,
            versions={name: told.get("after") for name, told in done.tables.items()},
        )
        upkeep = Upkeep(
            place=self.tables.place,
            look=self.tables.look,
            optimize=self._settings.optimize,
            expire_hours=self._settings.expire_hours,
        )
        upkeep.tidy(self.of_this_kind(done.tables), load, spark=self.session())

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
        return any(self.store.exists(f"{name}/metadata/{sign}") for sign in _SIGNS)
