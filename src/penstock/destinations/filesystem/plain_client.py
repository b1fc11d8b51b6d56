"""Plain files, opened for a load: a table is the files that its log says."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, cast

from penstock.destinations.filesystem.file_format import FORMATS, FileFormat, codec_for, file_extension
from penstock.destinations.filesystem.layout import FileLayout, FileNameParts
from penstock.destinations.filesystem.run import FileReader, write_rows
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
    TableCommit,
    WithTableDrop,
    WithTableVersions,
    WithUndo,
)
from penstock.package.file_ledger import SYSTEM_TABLE_NAMES
from penstock.package.trust import require_trust
from penstock.schema import Schema, root_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.settings import FilesystemConfiguration
    from penstock.destinations.lake.plan import ChainStep
    from penstock.interfaces import DestinationCapabilitiesContext, LoadMark
    from penstock.schema import Table, TSchemaTables, TTableSchema

PLAIN_TABLE_FORMATS: Final = frozenset((None, "native"))
"""Table formats of tables that are plain files."""


class PlainClient(DatasetClient, WithTableVersions, WithTableDrop, WithUndo):
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
        """A table as it stands in its folder."""
        return TableFiles(self.store, self.ledger(), self.layout, self.schema.name, table)

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Make room for the tables; each listed one is emptied."""
        self.ledger().initialize()
        for table in truncate_tables or ():
            standing = self.table_files(table)
            done = standing.log.commit(partial(_replace_entry, standing, LogEntry(kind="replace")))
            delete_files(done.gone if done else (), self.store)

    def drop_storage(self) -> None:
        """Delete the dataset with all its tables and packages."""
        self.store.delete("")

    def drop_tables(self, *tables: str) -> None:
        """Take tables away with all their files; what is not there is gone already."""
        for table in tables:
            standing = self.table_files(table)
            found = standing.log.known_files(standing.log.last_version()) | frozenset(
                standing.foreign_files()
            )
            standing.log.drop()
            delete_files(found, self.store)

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Refuse what cannot be written; columns come with the files that have them."""
        names = list(self.schema.tables if only_tables is None else only_tables)
        if not self.store.names(LOG_FOLDER):
            # Commits to tables are decided where the tables are, wherever packages stand.
            require_trust(self.store)
        for name in names:
            root = root_table(name, self.schema.tables)
            if root.write_disposition == "merge":
                raise merge_unsupported_error(root.name)
            self._file_format(root)
        return super().update_stored_schema(names, expected_update)

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Publish the files of one table and commit them, once; the job is done when this returns."""
        return self._load(table["name"], file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Start again: what is published stays, and what is committed is not committed twice."""
        return self._load(ParsedLoadJobFileName.parse(file_path).table_name, file_path)

    def complete_load(self, load_id: str) -> None:
        """The load counts: files that it has replaced are deleted, and its lists are not needed any more."""
        done = self.ledger().find_commit(schema_name=self.schema.name, load_id=load_id)
        for name, told in (done.tables if done else {}).items():
            if not told.get("after") or not self.is_plain(name):
                continue
            standing = self.table_files(name)
            entry = standing.log.find_version(told["after"])
            if entry is not None and entry.load_id == load_id:
                delete_files(entry.gone, self.store)
                standing.file_lists.delete(load_id)
                if entry.whole is not None:
                    delete_files(standing.log.prune(self.ledger().snapshot()), self.store)

    def table_names(self) -> tuple[str, ...]:
        """The tables with a log, and those of others that have files; what is known of them is asked anew."""
        self.__dict__.pop("known_tables", None)
        # Only tables that no complete load tells of must be looked into.
        ours = [
            name
            for name in self.store.names(LOG_FOLDER)
            if name in self.known_tables or self.table_files(name).log.has_commits()
        ]
        known = [name for name in self.known_tables if name not in (*ours, *SYSTEM_TABLE_NAMES)]
        known = [name for name in known if self.is_plain(name)]
        return tuple(sorted((*ours, *(name for name in known if self.table_files(name).foreign_files()))))

    def table_version(self, table: str, *, spark: SparkSession) -> int | None:
        """The number of the newest commit; None where there is none."""
        del spark
        return self.table_files(table).log.last_version() or None

    def commits(self, table: str, *, most: int | None = None, spark: SparkSession) -> Sequence[TableCommit]:
        """The commits to a table, newest first."""
        del spark
        standing = self.table_files(table)
        found: list[TableCommit] = []
        for header in standing.log.headers():
            found.append(header.to_table_commit())
            if len(found) == most:
                return found
        # Somebody who keeps no log may have begun the table: it was there before the first commit.
        return [*found, TableCommit(version=0)] if found and standing.has_foreign_origin() else found

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over the files of a table in the given session."""
        standing = self.table_files(table)
        known = self.known_tables.get(table)
        reading = FileReader(
            store=self.store,
            folder=standing.folder if self.layout.has_own_folder else None,
            columns=known.complete_columns() if known else (),
            spark=spark,
        )
        return reading.frame(standing.files(version))

    def to_undo(self, table: str, mark: LoadMark) -> AppliedJob | None:
        """What a load did to a table; where there is no commit, it is to be kept from having one."""
        standing = self.table_files(table)
        if standing.log.is_undone(mark.load_id):
            return None
        entry = standing.log.find_load(mark.load_id)
        if entry is not None:
            _check_newest(standing, entry)
            return _applied_job(table, entry)
        return AppliedJob(table=table)

    def verify(self, applied: AppliedJob, mark: LoadMark) -> None:
        """Raise unless the log of a table has the commit of a load, and none that takes it back."""
        log = self.table_files(applied.table).log
        if applied.version_after is not None and (
            log.find_load(mark.load_id) is None or log.is_undone(mark.load_id)
        ):
            raise CommitRolledBack(table=applied.table, load_id=mark.load_id, version=applied.version_after)

    def undo(self, applied: AppliedJob, load_id: str) -> None:
        """Take the files of a load out of the log, then delete them."""
        standing = self.table_files(applied.table)
        standing.log.commit(lambda last: _undo_entry(standing, load_id, last))
        # From here on nobody can commit it.
        entry, listed = standing.log.find_load(load_id), standing.file_lists.find(load_id)
        delete_files({**(entry.files if entry else {}), **(listed.by_key() if listed else {})}, self.store)
        standing.file_lists.delete(load_id)

    def is_plain(self, table: str) -> bool:
        """Whether a table of a stored schema is plain files."""
        tables = self.schema.tables if table in self.schema.tables else self.known_tables
        return root_table(table, tables).extras.get("table_format") in PLAIN_TABLE_FORMATS

    @cached_property
    def known_tables(self) -> Mapping[str, Table]:
        """All tables that were ever loaded here, with the columns that any schema has for them."""
        return self.all_tables()

    def _load(self, table: str, file_path: str) -> LoadJob:
        """Commit the rows of a job file; with a root also the nested tables that get no rows."""
        job = TableLoadJob(file_path)
        with job.partial_failure():
            root = root_table(table, self.schema.tables).name
            staged = StagedPackage(file_path, self.config.storage_credentials)
            plan = plan_chain(root, self.schema.tables, with_rows=staged.tables)
            for step in plan.steps_for(table, staged.tables):
                if step.commit != "nothing":
                    self._commit(step, staged, job)
        return job

    def _commit(self, step: ChainStep, staged: StagedPackage, job: TableLoadJob) -> None:
        """Publish and commit the files of one table, and record the commit before its list is deleted."""
        standing, mark = self.table_files(step.table), staged.mark
        known = standing.log.find_mark(mark)
        if known is not None:
            job.record(_applied_job(step.table, known, skipped=True))
            return
        listed = self._file_list(step, staged, standing) if step.rows else None
        files = listed.by_key() if listed else {}
        said = {"files": files, "rows": listed.rows if listed else 0}

        def make(last: int) -> LogEntry | None:
            if standing.log.find_mark(mark) is not None:
                return None
            if step.commit == "append":
                return LogEntry.of_load(mark, kind="append", **said)
            entry = _replace_entry(standing, LogEntry.of_load(mark, kind="replace", **said), last)
            return entry if entry.files or entry.gone else None

        # Whoever was late to agree finds the load committed, and its files deleted from the package.
        if listed is not None and standing.log.find_mark(mark) is None:
            publish_files(listed, staged.store, self.store)
        try:
            done = standing.log.commit(make) or standing.log.find_mark(mark)
        except DestinationTerminalException:
            # The load was taken back meanwhile, and so is what was published since.
            delete_files(files, self.store)
            raise
        if done is not None:
            job.record(_applied_job(step.table, done))
        if done is None or self._is_complete(mark):
            standing.file_lists.delete(mark.load_id)

    def _is_complete(self, mark: LoadMark) -> bool:
        found = self.ledger().find_commit(schema_name=self.schema.name, load_id=mark.load_id)
        return found is not None

    def _file_list(self, step: ChainStep, staged: StagedPackage, table_files: TableFiles) -> FileList:
        """The files of a load for a table: as they were agreed on, or written now."""
        load_id = staged.mark.load_id
        return table_files.file_lists.find(load_id) or table_files.file_lists.record(
            load_id, self._write_files(self.schema.get_table(step.table), staged)
        )

    def _write_files(self, table: Table, staged: StagedPackage) -> FileList:
        job, asked = staged.job, self._file_format(table)
        form, is_compressed = codec_for(table, asked), not self._settings.disable_compression
        folder = f"data/files/{table.name}/{uuid.uuid4().hex[:12]}"
        rows = write_rows(
            job.frame(self.session()),
            table,
            form,
            staged.store.path(folder),
            one_file=not self.layout.has_file_id,
            is_compressed=is_compressed,
        )
        found = [one for one in staged.store.entries(folder) if one.name.startswith("part-")]
        ext, at = (
            file_extension(asked, is_compressed=is_compressed),
            datetime.fromisoformat(staged.created_at),
        )

        def named(number: int) -> FileNameParts:
            return FileNameParts(
                schema_name=self.schema.name,
                table_name=table.name,
                load_id=job.load_id,
                file_id=f"{job.name.file_id}{number:05}",
                ext=ext,
                created_at=at,
            )

        files = [
            PublishedFile(path=f"{folder}/{one.name}", key=self.layout.key(named(number)), bytes=one.size)
            for number, one in enumerate(found)
        ]
        if len({one.key for one in files}) < len(files):
            raise InternalError(
                f"{len(files)} files of table {table.name} were written, and there are fewer names for them",
                hint="report this, with the layout; nothing was published",
            )
        return FileList(form=form, files=tuple(files) if rows != 0 else (), rows=rows)

    def _file_format(self, table: Table) -> FileFormat:
        root = root_table(table.name, self.schema.tables)
        said = table.extras.get("file_format") or root.extras.get("file_format")
        found = self._settings.loader_file_format if said in {None, "preferred"} else said
        if found not in FORMATS:
            raise LoadClientUnsupportedFileFormats(
                table=table.name, file_format=str(found), supported=tuple(FORMATS)
            )
        return cast("FileFormat", found)


def merge_unsupported_error(table: str) -> UsageError:
    """Plain files can only be added and replaced."""
    return UsageError(
        f"table {table} is to be merged, and plain files cannot be: rows in them are never found again",
        hint="set table_format='delta' for it, or use append or replace",
        write_disposition="merge",
        table=table,
    )


def _replace_entry(table_files: TableFiles, entry: LogEntry, last_version: int) -> LogEntry:
    """An entry that puts its files in the place of all that are there, those of others too."""
    others = table_files.foreign_files()
    gone = tuple(
        key for key in {**table_files.log.live_files(last_version), **others} if key not in entry.files
    )
    return dataclasses.replace(entry, adopted=others, gone=gone)


def _undo_entry(table_files: TableFiles, load_id: str, last_version: int) -> LogEntry | None:
    """An entry that takes a load back; one that has no commit is kept from having one."""
    if table_files.log.is_undone(load_id):
        return None
    entry = table_files.log.find_load(load_id)
    left = table_files.log.live_files(last_version)
    if entry is not None and entry.kind == "append":
        left = {key: form for key, form in left.items() if key not in entry.files}
    elif entry is not None:
        _check_newest(table_files, entry)
        left = {**table_files.log.live_files(entry.version - 1), **entry.adopted}
    return LogEntry(kind="undo", undoes=load_id, whole=left)


def _check_newest(table_files: TableFiles, entry: LogEntry) -> None:
    """Files that were added can go whenever; what was replaced comes back only if nothing came after it."""
    if entry.kind == "replace" and table_files.log.last_version() != entry.version:
        raise DestinationTerminalException(
            f"table {table_files.table} was written to after the load that replaced it",
            hint="load what was replaced again; its files are there until the next load",
            table=table_files.table,
        )


def _applied_job(table: str, entry: LogEntry, *, skipped: bool = False) -> AppliedJob:
    return AppliedJob(
        table=table,
        rows=entry.rows,
        version_before=entry.version - 1 or None,
        version_after=entry.version,
        skipped=skipped,
    )
