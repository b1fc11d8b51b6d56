"""The client of Iceberg tables: one dataset, opened for a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.destinations.iceberg.addressing import IcebergCatalog
from penstock.destinations.iceberg.conflicts import retry_on_conflict
from penstock.destinations.iceberg.ddl import can_widen, partition_hints, table_properties
from penstock.destinations.iceberg.history import branch_name
from penstock.destinations.iceberg.maintenance import IcebergMaintenance, PublishedLoad
from penstock.destinations.iceberg.run import IcebergTables
from penstock.destinations.lake.client import LakeClient
from penstock.destinations.lake.ddl import (
    change_type_statement,
    changed_properties,
    set_properties_statement,
)
from penstock.destinations.lake.existing_tables import ExistingSparkTables
from penstock.interfaces import LoadMark
from penstock.interfaces.existing_tables import WithExistingTables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.settings import IcebergConfiguration
    from penstock.destinations.lake.conflicts import Result
    from penstock.destinations.lake.merge_sets import ChainLocks
    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.interfaces.existing_tables import ExistingTable
    from penstock.schema import Schema, Table

_TABLE_MARKERS: Final = ("version-hint.text", "v1.metadata.json")
"""Files of which a table by path has at least one. Only their names are looked up, without a session."""


class IcebergClient(LakeClient, WithExistingTables):
    """An Iceberg lake opened for one dataset."""

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
        self._tables = IcebergTables(
            addressing=IcebergCatalog(
                catalog=config.session_catalog_name,
                dataset=self.dataset_name,
                conf=config.session_conf(),
                is_managed=config.is_managed,
            ),
            properties=config.properties,
            commit_mode=config.commits,
            previous_tables=self.previous_tables,
        )

    @property
    def tables(self) -> IcebergTables:
        """The tables of the dataset."""
        return self._tables

    @property
    def is_by_path(self) -> bool:
        """Whether tables are addressed by their folders."""
        return self._settings.is_by_path

    def path_table_names(self) -> tuple[str, ...]:
        """Return the tables below the folder of the dataset."""
        return tuple(name for name in self.store.names("") if self._is_table(name))

    def describe_table(self, table: str) -> ExistingTable:
        """Return the current version of a table."""
        return self._existing_tables.describe(table)

    def rows_at_maximum(self, table: ExistingTable, column: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows with the greatest value of `column`."""
        return self._existing_tables.rows_at_maximum(table, column, columns)

    @property
    def _existing_tables(self) -> ExistingSparkTables:
        return ExistingSparkTables(tables=self.tables, spark=self.session(), partition_hints=partition_hints)

    def _is_table(self, name: str) -> bool:
        return any(self.store.has_file(f"{name}/metadata/{marker}") for marker in _TABLE_MARKERS)

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        if not self.is_by_path:
            self.tables.drop_all(spark=self.session())
        self.store.delete("")

    def run_ddl(self, table: str, change: Callable[[], Result]) -> Result:
        """Run statements, and retry them on a conflict."""
        return retry_on_conflict(table, change)

    def alter_table(
        self, table: Table, previous: Table | None, types: Mapping[str, tuple[str, str]]
    ) -> frozenset[str]:
        """Set changed properties and widen types; return the widened columns.

        New columns are added by the load that writes them. The table is only read if it has properties or its
        types changed. A type that Iceberg cannot widen is kept: a value that does not fit it fails the load.
        """
        del previous
        spark = self.session()
        wanted = table_properties(table, self.tables.properties)
        wider = {column: new for column, (old, new) in types.items() if can_widen(old, new)}
        if not (wanted or wider) or not self.tables.exists(table.name, spark=spark):
            return frozenset()
        name = self.tables.sql_name(table.name)
        current = self.tables.properties_of(table.name, spark=spark) if wanted else {}
        if changed := changed_properties(current, wanted):
            spark.sql(set_properties_statement(name, changed))
        for column, sql_type in wider.items():
            spark.sql(change_type_statement(name, column, sql_type))
        return frozenset(wider)

    def complete_load(self, load_id: str) -> None:
        """Let branches expire and run maintenance; the row in the ledger is the completion marker."""
        commit = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
        if commit is None or commit.pipeline_name is None or commit.sequence is None:
            return
        mark = LoadMark(
            pipeline_name=commit.pipeline_name,
            sequence=commit.sequence,
            load_id=commit.load_id,
            manifest_hash=commit.manifest_hash or "",
        )
        load = PublishedLoad(
            mark=mark,
            branch=branch_name(mark) if self._settings.commits == "branch" else None,
            versions={name: result.get("after") for name, result in commit.tables.items()},
        )
        maintenance = IcebergMaintenance(
            catalog=self.tables.addressing,
            read_history=self.tables.read_history,
            optimize=self._settings.optimize,
            expire_hours=self._settings.expire_hours,
        )
        maintenance.run(self.existing_tables(commit.tables), load, spark=self.session())
