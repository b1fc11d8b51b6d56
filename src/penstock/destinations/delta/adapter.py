"""Delta tables of one dataset, opened for a load: one atomic commit for each table of a load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from pyspark.errors import AnalysisException

from penstock.destinations.delta.alter import bring_up_to_date
from penstock.destinations.delta.place import Catalog, Folders
from penstock.destinations.delta.run import DeltaTables
from penstock.destinations.delta.upkeep import Upkeep
from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.lake.run import ChainLoad
from penstock.destinations.lake.sets import Turns
from penstock.destinations.lake.staged import StagedPackage
from penstock.errors import DataError, InternalError, UsageError
from penstock.interfaces import (
    AppliedJob,
    JobClientBase,
    LoadJob,
    ParsedLoadJobFileName,
    StateInfo,
    StorageSchemaInfo,
    TLoadJobState,
    WithLedger,
    WithPackageStorage,
    WithStateSync,
    WithTableVersions,
    WithUndo,
)
from penstock.package import read_job
from penstock.package.ledger import FileLedger
from penstock.package.storage import FileStorage
from penstock.schema import Schema, root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.delta.settings import DeltaConfiguration
    from penstock.destinations.lake.hints import MergeStrategy
    from penstock.interfaces import DestinationCapabilitiesContext, LoadMark, TableCommit
    from penstock.schema import Table, TSchemaTables, TTableSchema

_PACKAGES: Final = "_dlt_pkg"
# What would be refused again.
_TERMINAL: Final = (UsageError, DataError, InternalError, AnalysisException)


class DeltaClient(JobClientBase, WithStateSync, WithLedger, WithPackageStorage, WithTableVersions, WithUndo):
    """A Delta lake opened for one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: DeltaConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
        turns: Turns | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self._settings, self._dataset = config, config.normalize_dataset_name(schema)
        self._root = f"{(config.bucket_url or '').rstrip('/')}/{self._dataset}"
        self._store, self._spark = FileStorage(self._root), spark
        self._folders = Folders(self._store)
        self.tables = DeltaTables(
            place=Catalog(catalog=config.catalog, dataset=self._dataset) if config.catalog else self._folders,
            properties=config.properties,
            file_size=config.target_file_size,
        )
        self._turns = turns or Turns()

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make room for the tables; each listed one is emptied by one commit of its own."""
        self.ledger().initialize()
        if self._spark is not None:
            self.tables.place.initialize(spark=self._spark)
        for table in truncate_tables or ():
            if self.tables.exists(table, spark=self._session()):
                self.tables.empty(table, spark=self._session())

    def is_storage_initialized(self) -> bool:
        """Whether anything was ever loaded here, by dlt or by us."""
        return self.ledger().is_initialized()

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        if self._settings.catalog:
            self.tables.place.drop_all(spark=self._session())
        self._store.delete("")

    def drop_tables(self, *tables: str) -> None:
        """Take tables away with all their rows; what is not there is gone already."""
        for table in tables:
            self.tables.place.drop(table, spark=self._session())

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Refuse what cannot be written, and bring tables up to what their hints say.

        New columns come with the rows that bring them.
        """
        names = None if only_tables is None else list(only_tables)
        applied = super().update_stored_schema(names, expected_update)
        for root in {root_of(name, self.schema.tables).name for name in names or self.schema.tables}:
            plan_chain(
                root, self.schema.tables, with_rows=names or (), default_strategy=self._default_strategy
            )
        before = self._tables_before()
        for name in names or self.schema.tables:
            bring_up_to_date(
                self.tables, self.schema.get_table(name), before.get(name), spark=self._session()
            )
        return applied

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Commit one table, once, whatever happened before; the job is done when this returns."""
        return DeltaLoadJob(file_path, self.load(table["name"], file_path))

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Start again: what was committed under the same mark is not committed twice."""
        return DeltaLoadJob(
            file_path, self.load(ParsedLoadJobFileName.parse(file_path).table_name, file_path)
        )

    def complete_load(self, load_id: str) -> None:
        """The row in the ledger is the mark, and it is there; what is left is to keep the tables in order."""
        upkeep = Upkeep(
            tables=self.tables, optimize=self._settings.optimize, vacuum_hours=self._settings.vacuum_hours
        )
        if upkeep.is_wanted:
            done = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
            upkeep.tidy(done.tables if done else (), load_id, spark=self._session())

    def ledger(self) -> FileLedger:
        """The ledger in dlt's file form, beside the tables."""
        return FileLedger(self._store)

    def package_root(self, pipeline_name: str) -> str:
        """Packages stand next to the data, where executors reach them."""
        return f"{self._root}/{_PACKAGES}/{pipeline_name}"

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        """The newest version of the client's schema in the ledger."""
        return self.ledger().last_schema(self.schema.name)

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        """The state after the last complete load of a pipeline."""
        return self.ledger().last_state(pipeline_name)

    def displayable_location(self) -> str:
        """The folder of the dataset, without credentials."""
        return f"{self.config}{'.' if self._settings.catalog else '/'}{self._dataset}"

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here; in a catalog those that the last schema has seen rows of."""
        if not self._settings.catalog:
            return self._folders.names()
        return tuple(sorted(name for name, table in self._tables_before().items() if table.has_seen_data))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The number of the newest commit; None where there is no such table."""
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
        return self.tables.to_undo(table, mark, spark=self._session())

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Bring a table back to the version before a job by one commit, unless it has moved on since."""
        if applied.version_after is not None:
            self.tables.undo(applied, load_id, spark=self._session())

    def load(self, table: str, file_path: str) -> Iterator[AppliedJob]:
        """Commit the rows of a job file to their table, and what else its chain needs with it."""
        root, spark = root_of(table, self.schema.tables), self._session()
        if (root.write_disposition or "append") == "append":
            job = read_job(file_path)
            if job.mark is None:
                raise InternalError(f"{file_path} is not part of a sealed load", hint="report this")
            yield self.tables.append(self.schema.get_table(table), job.frame(spark), job.mark, spark=spark)
            return
        chain = ChainLoad(
            root=root.name,
            schema=self.schema.tables,
            staged=StagedPackage(file_path),
            into=self.tables,
            turns=self._turns,
            spark=spark,
            default_strategy=self._default_strategy,
        )
        yield from chain.apply(table)

    def _tables_before(self) -> Mapping[str, Table]:
        """The tables as the last load left them."""
        stored = self.get_stored_schema()
        return Schema.from_dict(json.loads(stored.schema)).tables if stored else {}

    @property
    def _default_strategy(self) -> MergeStrategy:
        return cast("MergeStrategy", self.capabilities.supported_merge_strategies[0])

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise InternalError("a Delta table was to be written without a Spark session")
        return self._spark


class DeltaLoadJob(LoadJob):
    """The commits of one job file; it has ended as soon as it exists."""

    def __init__(self, file_path: str, commits: Iterator[AppliedJob]) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        self._applied: list[AppliedJob] = []
        self._error: Exception | None = None
        try:
            self._applied.extend(commits)
        except _TERMINAL as error:
            # What was done before can be taken back only by who knows of it.
            if not self._applied:
                raise
            self._error = error

    def state(self) -> TLoadJobState:
        """`completed`, or `failed` with something done; every other error was raised."""
        return "completed" if self._error is None else "failed"

    def exception(self) -> str:
        """Why the job is failed."""
        return "" if self._error is None else str(self._error)

    def applied(self) -> Sequence[AppliedJob]:
        """The commits: their rows, and the versions before and after each."""
        return tuple(self._applied)
