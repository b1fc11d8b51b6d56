"""The client of plain files: a table is the files in its log."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, cast

from penstock.destinations.filesystem.layout import FileLayout, FileNameParts
from penstock.destinations.filesystem.log_entries import (
    check_newest,
    replace_entry,
    restore_obstacle,
    truncate_entry,
    undo_entry,
)
from penstock.destinations.filesystem.run import FileReader, count_rows, write_rows
from penstock.destinations.filesystem.table_files import (
    FileList,
    PublishedFile,
    TableFiles,
    delete_files,
    publish_files,
)
from penstock.destinations.filesystem.table_log import LOG_FOLDER, LogEntry
from penstock.destinations.lake.dataset import DatasetClient
from penstock.destinations.lake.job import StagedPackage, TableLoadJob
from penstock.destinations.lake.plan import plan_chain
from penstock.errors import (
    CommitRolledBack,
    DestinationTerminalException,
    InternalError,
    LoadClientUnsupportedFileFormats,
    UsageError,
)
from penstock.interfaces import (
    AppliedJob,
    LoadJob,
    ParsedLoadJobFileName,
    PreparedTables,
    TableChanges,
    TableCommit,
    TableRestore,
    TableState,
    WithChangeCounts,
    WithTableDrop,
    WithTableRestore,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
    renewal_of,
    restore_refused,
)
from penstock.package import read_job
from penstock.package.file_ledger import SYSTEM_TABLE_NAMES
from penstock.package.trust import require_trust
from penstock.schema import Schema, Table, root_table
from penstock.spark.file_format import FORMATS, FileFormat, codec_for, file_extension

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.settings import FilesystemConfiguration
    from penstock.destinations.lake.plan import ChainStep
    from penstock.interfaces import DestinationCapabilitiesContext, LoadMark, UnsealedLoad
    from penstock.schema import TSchemaTables, TTableSchema

PLAIN_TABLE_FORMATS: Final = frozenset((None, "native"))
"""The table formats of plain files."""


class PlainClient(
    DatasetClient,
    WithTablesByCommit,
    WithTableVersions,
    WithTableDrop,
    WithTableRestore,
    WithUndo,
    WithChangeCounts,
):
    """The plain tables of one dataset."""

    def __init__(
        self,
        schema: Schema,
        config: FilesystemConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities, bucket_url=config.bucket_url, spark=spark)
        self._settings = config
        self.layout = FileLayout(template=config.layout, extra=config.extra_placeholders or {})

    def table_files(self, table: str) -> TableFiles:
        """Return the files of a table."""
        return TableFiles(self.store, self.ledger(), self.layout, self.schema.name, table)

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Create the ledger if it does not exist; truncate the given tables."""
        self.ledger().initialize()
        for table in truncate_tables or ():
            table_files = self.table_files(table)
            entry = table_files.log.commit(partial(truncate_entry, table_files))
            delete_files(entry.removed if entry else (), self.store)

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        self.store.delete("")

    def drop_tables(self, *tables: str) -> None:
        """Drop those of the tables that exist, with all their files."""
        for table in tables:
            table_files = self.table_files(table)
            log = table_files.log
            keys = log.known_files(log.last_version()) | frozenset(table_files.foreign_files())
            log.drop()
            delete_files(keys, self.store)

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Refuse hints that no load can follow, and return an empty update: files have no DDL.

        A table and its columns exist once files with rows of them do.
        """
        del expected_update
        self._refuse_impossible_loads(self.schema.tables if only_tables is None else only_tables)
        return {}

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Leave tables and columns to the commits of their rows; columns of another schema exist already."""
        del stored_tables
        self._refuse_impossible_loads(tables)
        by_commits: TSchemaTables = {}
        for name, update in expected_update.items():
            missing, loaded = Table.from_dict(update, name=name), self.known_tables.get(name)
            is_recreated = renewal_of(name, self.schema.tables) == "table"
            if loaded is not None and loaded.has_seen_data and not is_recreated:
                missing = missing.without_columns(*(column.name for column in loaded.complete_columns()))
            if name in with_rows and missing.columns:
                by_commits[name] = missing.to_dict()
        return PreparedTables(applied={}, by_commits=by_commits)

    def _refuse_impossible_loads(self, tables: Iterable[str]) -> None:
        names = list(tables)
        if not self.store.names(LOG_FOLDER):
            # The store of the tables decides their commits, wherever the packages are.
            require_trust(self.store)
        for name in names:
            root = root_table(name, self.schema.tables)
            if root.write_disposition == "merge":
                raise merge_unsupported_error(root.name)
            self._file_format(root)
        self.verify_schema(names)

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Publish and commit the files of one table, and return the finished job."""
        return self._load(table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Repeat a job; published files and commits of an earlier attempt are skipped."""
        return self._load(ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def complete_load(self, load_id: str) -> None:
        """Delete the files that a complete load has replaced, and its file lists."""
        commit = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
        for name, result in (commit.tables if commit else {}).items():
            if not result.get("after") or not self.is_plain(name):
                continue
            table_files = self.table_files(name)
            entry = table_files.log.find_version(result["after"])
            if entry is not None and entry.load_id == load_id:
                delete_files(entry.removed, self.store)
                table_files.file_lists.delete(load_id)
                if entry.checkpoint is not None:
                    delete_files(table_files.log.prune(self.ledger().snapshot()), self.store)

    def table_names(self) -> tuple[str, ...]:
        """Return the tables with a log, and those of other writers that have files."""
        self.__dict__.pop("known_tables", None)
        # Only the logs of tables without a complete load must be read.
        logged = [
            name
            for name in self.store.names(LOG_FOLDER)
            if name in self.known_tables or self.table_files(name).log.has_commits()
        ]
        others = [name for name in self.known_tables if name not in (*logged, *SYSTEM_TABLE_NAMES)]
        foreign = [name for name in others if self.is_plain(name) and self.table_files(name).foreign_files()]
        return tuple(sorted((*logged, *foreign)))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """Return the number of the newest commit; None if there is none."""
        del spark
        return self.table_files(table).log.last_version() or None

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """Return the commits to a table, newest first."""
        del spark
        table_files = self.table_files(table)
        commits: list[TableCommit] = []
        for header in table_files.log.headers():
            commits.append(header.to_table_commit())
            if len(commits) == most:
                return commits
        # A table that a writer without a log began existed before the first commit.
        return [*commits, TableCommit(version=0)] if commits and table_files.has_foreign_origin() else commits

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over the files of a table in the given session."""
        table_files = self.table_files(table)
        known_table = self.known_tables.get(table)
        reader = FileReader(
            store=self.store,
            folder=table_files.folder if self.layout.has_own_folder else None,
            columns=known_table.complete_columns() if known_table else (),
            spark=spark,
        )
        return reader.frame(table_files.files(version))

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """Return the commit of a load that is in effect; an empty job if it has none and must be fenced."""
        table_files = self.table_files(table)
        if table_files.log.is_undone(mark.load_id):
            return None
        entry = table_files.log.find_load(mark.load_id)
        if entry is not None:
            check_newest(table_files, entry)
            return _applied_job(table, entry)
        return AppliedJob(table=table)

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise `CommitRolledBack` unless the commit of a job is in effect."""
        log = self.table_files(applied.table).log
        if applied.version_after is not None and (
            log.find_load(mark.load_id) is None or log.is_undone(mark.load_id)
        ):
            raise CommitRolledBack(table=applied.table, load_id=mark.load_id, version=applied.version_after)

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Remove the files of a load from the table by one commit, then delete them."""
        table_files = self.table_files(applied.table)
        table_files.log.commit(lambda last: undo_entry(table_files, load_id, last))
        # From here on no attempt can commit the load.
        entry, file_list = table_files.log.find_load(load_id), table_files.file_lists.find(load_id)
        files = {**(entry.files if entry else {}), **(file_list.by_key() if file_list else {})}
        delete_files(files, self.store)
        table_files.file_lists.delete(load_id)

    def plan_restore(self, table: str, version: int | None, own_loads: Container[str]) -> TableRestore:
        """Return what the restore of a version would do, from the log of the table."""
        table_files = self.table_files(table)
        log, newest = table_files.log, table_files.log.last_version()
        return TableRestore(
            table=table,
            version=version,
            newest=newest or None,
            other_changes=log.other_changes(version or 0, own_loads),
            obstacle=restore_obstacle(table_files, version, newest),
        )

    def restore(self, planned: TableRestore, mark: LoadMark, *, overwrites: bool) -> AppliedJob:
        """Restore the files of a version by one commit; those of later commits are deleted after the load."""
        table_files = self.table_files(planned.table)
        log = table_files.log

        def build_entry(last: int) -> LogEntry | None:
            if log.find_mark(mark) is not None:
                return None
            if last != planned.newest and not overwrites:
                raise restore_refused(planned.table, log.other_changes(planned.newest or 0, ()))
            files = table_files.logged_files(planned.version or 0, last)
            removed = tuple(key for key in log.live_files(last) if key not in files)
            return LogEntry.of_load(mark, kind="undo", checkpoint=files, removed=removed)

        is_new = log.find_mark(mark) is None
        entry = log.commit(build_entry) or log.find_mark(mark)
        if entry is None:
            raise InternalError(f"the restore of {planned.table} is not in its log", hint="report this")
        return _applied_job(planned.table, entry, skipped=not is_new)

    def count_changes(self, load: UnsealedLoad) -> Sequence[TableChanges]:
        """Return the changes of each table; Spark counts the rows of replaced files."""
        roots = dict.fromkeys(root_table(name, self.schema.tables).name for name in load.job_paths)
        plans = (plan_chain(root, self.schema.tables, with_rows=load.job_paths.keys()) for root in roots)
        return [
            self._count_step(step, load) for plan in plans for step in plan.steps if step.commit != "nothing"
        ]

    def _count_step(self, step: ChainStep, load: UnsealedLoad) -> TableChanges:
        inserted = load.rows.get(step.table) if step.rows else 0
        if inserted is None:
            job = read_job(
                load.job_paths[step.table], mark=load.mark, credentials=self.config.storage_credentials
            )
            inserted = count_rows(job.frame(self.session()))
        files = {} if step.commit == "append" else self.table_files(step.table).files()
        deleted = count_rows(self.read(step.table, spark=self.session())) if files else 0
        return TableChanges(
            table=step.table,
            inserted=inserted,
            deleted=deleted,
            files=len(files),
            file_bytes=sum(self.store.size(key) for key in files),
        )

    def table_states(self, tables: Iterable[str]) -> Mapping[str, TableState]:
        """Return the newest commits to those of the tables that have one."""
        versions = {name: self.table_files(name).log.last_version() for name in tables}
        return {name: TableState(version=version) for name, version in versions.items() if version}

    def is_plain(self, table: str) -> bool:
        """Return whether a table is plain files."""
        tables = self.schema.tables if table in self.schema.tables else self.known_tables
        return root_table(table, tables).extras.get("table_format") in PLAIN_TABLE_FORMATS

    @cached_property
    def known_tables(self) -> Mapping[str, Table]:
        """All tables that were ever loaded here, with their columns of every schema."""
        return self.all_tables()

    def _load(self, table: str, file_path: str) -> LoadJob:
        """Commit the rows of a job file; with a root also the nested tables that get no rows."""
        job = TableLoadJob(file_path)
        with job.partial_failure():
            root = root_table(table, self.schema.tables).name
            staged = StagedPackage(file_path, self.config.storage_credentials, self.load_mark)
            plan = plan_chain(root, self.schema.tables, with_rows=staged.tables)
            for step in plan.steps_for(table, staged.tables):
                if step.commit != "nothing":
                    self._commit(step, staged, job)
        return job

    def _commit(self, step: ChainStep, staged: StagedPackage, job: TableLoadJob) -> None:
        """Publish and commit the files of one table, and record the commit before its list is deleted."""
        table_files, mark = self.table_files(step.table), staged.mark
        log = table_files.log
        earlier = log.find_mark(mark)
        if earlier is not None:
            job.record(_applied_job(step.table, earlier, skipped=True))
            return
        file_list = self._file_list(step, staged, table_files) if step.rows else None
        files = file_list.by_key() if file_list else {}
        values = {"files": files, "rows": file_list.rows if file_list else 0}

        def build_entry(last: int) -> LogEntry | None:
            if log.find_mark(mark) is not None:
                return None
            if step.commit == "append":
                return LogEntry.of_load(mark, kind="append", **values)
            entry = replace_entry(table_files, LogEntry.of_load(mark, kind="replace", **values), last)
            return entry if entry.files or entry.removed else None

        # A late attempt may find the load committed, and its files deleted from the package.
        if file_list is not None and log.find_mark(mark) is None:
            publish_files(file_list, staged.store, self.store)
        try:
            entry = log.commit(build_entry) or log.find_mark(mark)
        except DestinationTerminalException:
            # The load was undone meanwhile: the files that were published since are deleted too.
            delete_files(files, self.store)
            raise
        if entry is not None:
            job.record(_applied_job(step.table, entry))
        if entry is None or self._is_complete(mark):
            table_files.file_lists.delete(mark.load_id)

    def _is_complete(self, mark: LoadMark) -> bool:
        return self.ledger().find_commit(schema_name=self.schema.name, load_id=mark.load_id) is not None

    def _file_list(self, step: ChainStep, staged: StagedPackage, table_files: TableFiles) -> FileList:
        """Return the recorded file list of a load for a table; write the files if there is none."""
        load_id = staged.mark.load_id
        return table_files.file_lists.find(load_id) or table_files.file_lists.record(
            load_id, self._write_files(self.schema.get_table(step.table), staged)
        )

    def _write_files(self, table: Table, staged: StagedPackage) -> FileList:
        job, file_format = staged.job, self._file_format(table)
        codec, is_compressed = codec_for(table, file_format), not self._settings.disable_compression
        folder = f"data/files/{table.name}/{uuid.uuid4().hex[:12]}"
        rows = write_rows(
            job.frame(self.session()),
            table,
            codec,
            staged.store.path(folder),
            one_file=not self.layout.has_file_id,
            is_compressed=is_compressed,
        )
        parts = [entry for entry in staged.store.entries(folder) if entry.name.startswith("part-")]
        ext = file_extension(file_format, is_compressed=is_compressed)
        created_at = datetime.fromisoformat(staged.created_at)

        def name_parts(number: int) -> FileNameParts:
            return FileNameParts(
                schema_name=self.schema.name,
                table_name=table.name,
                load_id=job.load_id,
                file_id=f"{job.name.file_id}{number:05}",
                ext=ext,
                created_at=created_at,
            )

        files = [
            PublishedFile(
                path=f"{folder}/{part.name}", key=self.layout.key(name_parts(number)), bytes=part.size
            )
            for number, part in enumerate(parts)
        ]
        if len({file.key for file in files}) < len(files):
            raise InternalError(
                f"{len(files)} files of table {table.name} were written, and the layout has fewer names",
                hint="report this, with the layout; nothing was published",
            )
        return FileList(form=codec, files=tuple(files) if rows != 0 else (), rows=rows)

    def _file_format(self, table: Table) -> FileFormat:
        root = root_table(table.name, self.schema.tables)
        hint = table.extras.get("file_format") or root.extras.get("file_format")
        file_format = self._settings.loader_file_format if hint in {None, "preferred"} else hint
        if file_format not in FORMATS:
            raise LoadClientUnsupportedFileFormats(
                table=table.name, file_format=str(file_format), supported=tuple(FORMATS)
            )
        return cast("FileFormat", file_format)


def merge_unsupported_error(table: str) -> UsageError:
    """Return the error of a plain table with the disposition `merge`."""
    return UsageError(
        f"table {table} has the write disposition merge, which plain files do not support",
        hint="set table_format='delta' for it, or use append or replace",
        write_disposition="merge",
        table=table,
    )


def _applied_job(table: str, entry: LogEntry, *, skipped: bool = False) -> AppliedJob:
    return AppliedJob(
        table=table,
        rows=entry.rows,
        version_before=entry.version - 1 or None,
        version_after=entry.version,
        skipped=skipped,
    )
