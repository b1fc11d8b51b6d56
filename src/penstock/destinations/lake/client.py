"""Tables in a table format, opened for a load: one atomic commit for each table of a load."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol, cast

from penstock.destinations.lake.dataset import DatasetClient
from penstock.destinations.lake.job import TableLoadJob
from penstock.destinations.lake.merge_sets import ChainLocks
from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.lake.run import ChainLoad, LakeTables
from penstock.destinations.lake.staged_package import StagedPackage
from penstock.errors import InternalError
from penstock.interfaces import (
    AppliedJob,
    LoadJob,
    ParsedLoadJobFileName,
    WithTableDrop,
    WithTableVersions,
    WithUndo,
    renewal_of,
)
from penstock.package import read_job
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.hints import MergeStrategy
    from penstock.interfaces import (
        DestinationCapabilitiesContext,
        DestinationClientDwhConfiguration,
        LoadMark,
        TableCommit,
    )
    from penstock.schema import Schema, Table, TSchemaTables, TTableSchema


class VersionedTables(LakeTables, Protocol):
    """What a client needs of a table format beside the commits of a chain."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Make room for tables, where there is none."""

    def sql_name(self, table: str) -> str:
        """A table in SQL."""

    def version(self, table: str, *, spark: SparkSession) -> int | None:
        """The version of a table now; None where it has none yet."""

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> Sequence[TableCommit]:
        """The commits to a table, newest first."""

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or nothing of it is left."""

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job."""

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise unless a table still shows what a job of a load wrote."""

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Refuse commits of an aborted load from now on."""


class LakeClient(DatasetClient, WithTableVersions, WithTableDrop, WithUndo):
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

    @abstractmethod
    def alter_table(self, table: Table, previous: Table | None) -> None:
        """Bring a table that is there up to what its hints say; `before` is the table of the last load."""

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make room for the tables; each listed one is emptied by one commit of its own."""
        if self._spark is not None:
            self.tables.initialize(spark=self._spark)
        self.ledger().initialize()
        for table in truncate_tables or ():
            if self.tables.exists(table, spark=self.session()):
                self.tables.truncate(table, spark=self.session())

    def drop_tables(self, *tables: str) -> None:
        """Take tables away with all their rows; what is not there is gone already."""
        for table in tables:
            self.tables.drop(table, spark=self.session())

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Refuse what cannot be written, and bring tables up to what their hints say."""
        names = None if only_tables is None else list(only_tables)
        applied = super().update_stored_schema(names, expected_update)
        for root in {root_table(name, self.schema.tables).name for name in names or self.schema.tables}:
            plan_chain(
                root, self.schema.tables, with_rows=names or (), default_strategy=self._default_strategy
            )
        before = self.previous_tables()
        for name in names or self.schema.tables:
            # A table that begins anew is what it shall be with its first rows.
            if renewal_of(name, self.schema.tables) != "table":
                self.alter_table(self.schema.get_table(name), before.get(name))
        return applied

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Commit one table, once, whatever happened before; the job is done when this returns."""
        return self._load(table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Start again: what was committed under the same mark is not committed twice."""
        return self._load(ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The newest version; None where there is no such table."""
        return self.tables.version(table, spark=spark) if self.tables.exists(table, spark=spark) else None

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        return self.tables.read(table, version, spark=spark)

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """The commits to a table, newest first."""
        return self.tables.commits(table, most, spark=spark) if self.tables.exists(table, spark=spark) else ()

    def sql_name(self, table: str) -> str:
        """How Spark SQL calls a table."""
        return self.tables.sql_name(table)

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """What a load did to a table, as its history tells."""
        return self.tables.to_undo(table, mark, spark=self.session())

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Bring a table back to the version before a job by one commit, unless it has moved on since."""
        if applied.version_after is not None:
            self.tables.undo(applied, load_id, spark=self.session())

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise unless a table still shows what a job of a load wrote."""
        if applied.version_after is not None:
            self.tables.verify(applied, mark, spark=self.session())

    def fence(self, table: str, mark: LoadMark) -> None:
        """Refuse commits of an aborted load from now on, if the table exists."""
        self.tables.fence(table, mark, spark=self.session())

    def existing_tables(self, tables: Iterable[str]) -> list[str]:
        """The tables of a load that stand here; some of another kind may belong to the same load."""
        return [name for name in tables if self.tables.exists(name, spark=self.session())]

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
        staged = read_job(file_path, credentials=self.config.storage_credentials)
        if staged.mark is None:
            raise InternalError(f"{file_path} is not part of a sealed load", hint="report this")
        spark = self.session()
        return self.tables.append(self.schema.get_table(table), staged.frame(spark), staged.mark, spark=spark)

    def _chain_load(self, root: str, file_path: str) -> ChainLoad:
        return ChainLoad(
            root=root,
            schema=self.schema.tables,
            staged=StagedPackage(file_path, self.config.storage_credentials),
            target=self.tables,
            chain_locks=self._chain_locks,
            spark=self.session(),
            default_strategy=self._default_strategy,
        )

    @property
    def _default_strategy(self) -> MergeStrategy:
        return cast("MergeStrategy", self.capabilities.supported_merge_strategies[0])
