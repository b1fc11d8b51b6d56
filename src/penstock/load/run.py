"""Applies a sealed package: its jobs, then schema and state, and the ledger row last."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from penstock.config import logger
from penstock.errors import InternalError, LoadCompletedElsewhere, PackageDamaged
from penstock.interfaces import (
    CommitRecord,
    LoadCommit,
    PreparedTables,
    StorageSchemaInfo,
    WithAtomicCommit,
    WithStagingDataset,
    WithTablesByCommit,
    WithUndo,
)
from penstock.load.engine import LoadEngine
from penstock.load.job_board import JobBoard, JobProgress
from penstock.load.plan import (
    chains_of,
    has_failed_job,
    is_merged_without_key,
    results_by_table,
    schema_update,
)
from penstock.load.refresh import clear_tables, drop_removed_tables
from penstock.load.report import FailedJob, PackageReport, TableReport
from penstock.load.undo import restore_tables
from penstock.package import package_context
from penstock.package.folder import list_folders
from penstock.package.manifest import job_sizes
from penstock.package.storage import as_json
from penstock.schema import ENGINE_VERSION, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.interfaces import AppliedJob, JobClientBase, Ledger, StateInfo
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.load.plan import Chain
    from penstock.load.settings import LoaderConfiguration
    from penstock.load.target import LoadTarget
    from penstock.package import DataFolder, Manifest, Package
    from penstock.schema import Table

_LOG = logger("penstock.load")


def load(
    manifest: Manifest, target: LoadTarget, *, state: StateInfo, load_settings: LoaderConfiguration
) -> PackageReport:
    """Roll a sealed package forward. Idempotent: any process may do it, any number of times."""
    if manifest.undo is not None:
        return _load_undo(manifest, target, state)
    started, started_at = time.monotonic(), datetime.now(UTC)
    package = target.packages.package(manifest.load_id)
    chains = chains_of(manifest.tables, target.schema.tables)
    sizes = _table_sizes(manifest)
    job_board = JobBoard(package, target.packages.normalized_packages, chains)
    package.remove_orphaned_attempts(_named_folders(manifest))
    is_atomic = _commits_atomically(target)
    # An atomic commit may read the rows of every job again.
    verify_data_files(package, manifest.folders if is_atomic else job_board.unread_folders(manifest))
    if not is_atomic:
        target.ledger.initialize()
    with _load_package_context(package, state):
        prepared = _prepare_destination(manifest, target, chains)
        LoadEngine(
            job_board,
            target,
            mark=manifest.mark,
            staged_jobs=prepared.staged_jobs,
            file_formats=prepared.file_formats,
            load_settings=_strict_on_removal(load_settings, manifest),
            progress=JobProgress(target.collector, sizes),
        ).run()
        _verify_earlier_commits(job_board, manifest, target)
        applied = results_by_table(job_board.results())
        if prepared.has_updates_by_commits and not is_atomic:
            package.commit_table_updates(applied)
        target.assert_leased()
        # Every load before this one may have been aborted, so a higher number may be the first load as well.
        is_first = manifest.sequence == 1 or target.ledger.last_commit(manifest.pipeline_name) is None
        if is_atomic:
            applied = results_by_table(_commit_atomically(manifest, target, state, job_board))
            package.commit_table_updates(applied)
        else:
            _commit(manifest, target, state, applied)
        _complete(manifest, target, is_last_attempt=False)
    _finish(manifest, target)
    return PackageReport(
        load_id=manifest.load_id,
        sequence=manifest.sequence,
        tables=_table_reports(applied, sizes),
        dataset_name=manifest.dataset_name,
        started_at=started_at,
        jobs=job_board.metrics(),
        failed_jobs=tuple(
            FailedJob(job_id=job, failed_message=message)
            for job, message in job_board.failed_messages().items()
        ),
        seconds=time.monotonic() - started,
        is_first=is_first,
    )


def _load_undo(manifest: Manifest, target: LoadTarget, state: StateInfo) -> PackageReport:
    """Roll a sealed undo forward: restore its tables, then commit schema, state and ledger row."""
    started, started_at = time.monotonic(), datetime.now(UTC)
    with _load_package_context(target.packages.package(manifest.load_id), state):
        if _commits_atomically(target):
            applied = results_by_table(_commit_atomically(manifest, target, state))
        else:
            applied = restore_tables(manifest, target)
            target.assert_leased()
            _commit(manifest, target, state, applied)
        _complete(manifest, target, is_last_attempt=False)
    _finish(manifest, target)
    return PackageReport(
        load_id=manifest.load_id,
        sequence=manifest.sequence,
        tables=_table_reports(applied, {}),
        dataset_name=manifest.dataset_name,
        started_at=started_at,
        seconds=time.monotonic() - started,
    )


def _table_reports(
    applied: Mapping[str, AppliedJob], sizes: Mapping[str, int | None]
) -> tuple[TableReport, ...]:
    return tuple(
        TableReport(
            table=job.table,
            rows=job.rows,
            version=job.version_after,
            skipped=job.skipped,
            bytes=sizes.get(job.table),
        )
        for job in applied.values()
    )


def _commit(
    manifest: Manifest, target: LoadTarget, state: StateInfo, applied: Mapping[str, AppliedJob]
) -> None:
    """Decide that the load is not aborted, and complete it in the ledger; raise if another run has."""
    target.packages.commit(manifest)
    if not _commit_to_ledger(manifest, target, state, applied):
        raise _completed_elsewhere(manifest)


def _commits_atomically(target: LoadTarget) -> bool:
    with target.client() as client:
        return isinstance(client, WithAtomicCommit)


def _completed_elsewhere(manifest: Manifest) -> LoadCompletedElsewhere:
    """Return the error of a load that another run, or a copy of the package, has completed.

    A report of this run would be wrong.
    """
    return LoadCompletedElsewhere(load_id=manifest.load_id, sequence=manifest.sequence)


def finish_committed_load(manifest: Manifest, target: LoadTarget, *, state: StateInfo) -> None:
    """Finish the package of a load that is in the ledger, after the process that committed it died."""
    with _load_package_context(target.packages.package(manifest.load_id), state):
        _complete(manifest, target, is_last_attempt=True)
    _finish(manifest, target)


def _complete(manifest: Manifest, target: LoadTarget, *, is_last_attempt: bool) -> None:
    drop_removed_tables(target, manifest, is_last_attempt=is_last_attempt)
    with target.client() as client:
        client.complete_load(manifest.load_id)


def _finish(manifest: Manifest, target: LoadTarget) -> None:
    target.on_committed(manifest)
    target.packages.finish(manifest.load_id, retention=target.retention)


def _strict_on_removal(load_settings: LoaderConfiguration, manifest: Manifest) -> LoaderConfiguration:
    """Return the settings of a load: without a job, rows that a refresh or a replay removes would be lost."""
    if not (manifest.is_refresh or manifest.is_replay):
        return load_settings
    return load_settings.model_copy(update={"raise_on_failed_jobs": True})


def _named_folders(manifest: Manifest) -> list[str]:
    return [
        *(folder.path for folder in manifest.folders),
        *(path for entry in manifest.tables for path in entry.folders),
    ]


def verify_data_files(package: Package, folders: Sequence[DataFolder]) -> None:
    """Raise `PackageDamaged` where files are missing, added or of another size. No file is opened."""
    sizes = list_folders(package.store, [folder.path for folder in folders])
    for folder in folders:
        reason = folder.find_mismatch(sizes[folder.path])
        if reason is not None:
            raise PackageDamaged(path=package.store.path(folder.path), reason=reason)


@contextmanager
def _load_package_context(package: Package, state: StateInfo) -> Iterator[None]:
    """Provide `load_package()`, with the pipeline's state where dlt's destinations look for it."""
    with package_context(package) as document:
        pipeline_state = {**asdict(state), "created_at": state.created_at.isoformat()}
        cast("dict[str, Any]", document["state"])["pipeline_state"] = pipeline_state
        yield


class _PreparedLoad(NamedTuple):
    """The choices of a load for its jobs."""

    staged_jobs: frozenset[str]
    file_formats: Mapping[str, TLoaderFileFormat]
    """The format of the files of each job; `reference` if its client reads the rows itself."""
    has_updates_by_commits: bool
    """Whether commits of the load may change columns."""


def _prepare_destination(manifest: Manifest, target: LoadTarget, chains: Sequence[Chain]) -> _PreparedLoad:
    """Create and update tables, and empty the staging dataset.

    Tables are changed once a load, before its first job, and not again when the load is resumed.
    """
    package = target.packages.package(manifest.load_id)
    with target.client() as client:
        dispositions = client.get_stage_dispositions() if isinstance(client, WithStagingDataset) else ()
        staged = tuple(chain for chain in chains if chain.write_disposition in dispositions)
        if not isinstance(client, WithAtomicCommit):
            client.initialize_storage()
        has_updates_by_commits = True
        if package.applied_schema_updates() is None:
            if manifest.is_refresh and not target.destination.capabilities().renews_tables:
                clear_tables(client, manifest)
            tables = [table for chain in chains for table in chain.tables]
            client.verify_schema(tables)
            _warn_of_merges_without_key(client, chains)
            update = _update_tables(client, tables, manifest, _stored_tables(target.ledger, manifest))
            if staged:
                _prepare_staging(client, [table for chain in staged for table in chain.tables])
            package.commit_schema_updates(update.applied, update.by_commits)
            has_updates_by_commits = bool(update.by_commits)
        formats = {entry.job_id: client.loader_file_format(entry.table) for entry in manifest.tables}
    staged_jobs = frozenset(job for chain in staged for job in chain.jobs)
    return _PreparedLoad(staged_jobs, formats, has_updates_by_commits)


def _warn_of_merges_without_key(client: JobClientBase, chains: Sequence[Chain]) -> None:
    for chain in chains:
        if is_merged_without_key(client.prepare_load_table(chain.root)):
            _LOG.warning(
                "table %s is merged without a primary key or a merge key: its rows are appended", chain.root
            )


def _update_tables(
    client: JobClientBase, tables: Sequence[str], manifest: Manifest, stored_tables: Mapping[str, Table]
) -> PreparedTables:
    """Update the tables of a load, but leave to its commits what they do anyway."""
    expected = schema_update(stored_tables, client.schema.tables, tables)
    if isinstance(client, WithTablesByCommit):
        with_rows = {entry.table for entry in manifest.tables}
        return client.prepare_tables(
            tables, with_rows=with_rows, expected_update=expected, stored_tables=stored_tables
        )
    return PreparedTables(applied=client.update_stored_schema(tables, expected) or {}, by_commits={})


def _prepare_staging(client: JobClientBase, tables: Sequence[str]) -> None:
    """Create and truncate staging tables: an earlier load may have left rows."""
    if isinstance(client, WithStagingDataset):
        with client.with_staging_dataset() as staging:
            staging.initialize_storage()
            staging.update_stored_schema(tables)
            staging.initialize_storage(truncate_tables=tables)


def _verify_earlier_commits(job_board: JobBoard, manifest: Manifest, target: LoadTarget) -> None:
    """Verify that tables still show the commits of an earlier process.

    An operator may have restored a table since, and a load must not be completed without its rows.
    """
    results = job_board.earlier_results()
    if not results:
        return
    with target.client() as client:
        if isinstance(client, WithUndo):
            for applied in results:
                client.verify(applied, manifest.mark)


def _commit_to_ledger(
    manifest: Manifest, target: LoadTarget, state: StateInfo, applied: Mapping[str, AppliedJob]
) -> bool:
    """Store schema and state, then the commit that makes them count; return False if it already exists.

    The ledger is checked first: a late process must not make its schema the newest.
    """
    if target.ledger.find_commit(schema_name=manifest.schema_name, load_id=manifest.load_id) is not None:
        return False
    schema = Schema.from_dict(dict(manifest.schema))
    target.ledger.store_schema(_schema_row(schema))
    last = target.ledger.last_state(manifest.pipeline_name)
    if last is None or last.version_hash != state.version_hash:
        target.ledger.store_state(state, schema_hash=schema.version_hash)
    tables = {
        job.table: {"before": job.version_before, "after": job.version_after, "rows": job.rows}
        for job in applied.values()
    }
    return target.ledger.commit(_commit_record(manifest, schema, tables))


def _commit_atomically(
    manifest: Manifest, target: LoadTarget, state: StateInfo, job_board: JobBoard | None = None
) -> Sequence[AppliedJob]:
    """Commit all tables with schema, state and ledger row; the load is decided inside of the transaction.

    Once it is decided, a load cannot be aborted. So it is decided after every statement that data may fail.
    """
    schema = Schema.from_dict(dict(manifest.schema))
    package = target.packages.package(manifest.load_id)

    def confirm() -> None:
        target.assert_leased()
        target.packages.commit(manifest)

    undone = () if manifest.undo is None else manifest.undo.tables
    with target.client() as client:
        if not isinstance(client, WithAtomicCommit):
            raise InternalError(f"{type(client).__name__} has no atomic commit", hint="report this")
        applied = client.commit_load(
            LoadCommit(
                tables=[
                    table
                    for chain in (job_board.chains if job_board else ())
                    if job_board and not has_failed_job(chain, job_board.states)
                    for table in chain.tables
                ],
                job_paths=job_board.completed_paths() if job_board else {},
                removed_tables=tuple(manifest.removed_tables),
                schema=_schema_row(schema),
                state=state,
                record=_commit_record(manifest, schema, {}),
                created_at=package.state()["created_at"],
                confirm=confirm,
                undone_tables=[planned.table for planned in undone if planned.deletes_rows],
                removed_columns={} if manifest.undo is None else manifest.undo.removed_columns,
            )
        )
    if applied is None:
        raise _completed_elsewhere(manifest)
    return applied


def _commit_record(
    manifest: Manifest, schema: Schema, tables: Mapping[str, Mapping[str, int | None]]
) -> CommitRecord:
    return CommitRecord(
        load_id=manifest.load_id,
        schema_name=manifest.schema_name,
        schema_version_hash=schema.version_hash,
        inserted_at=_now().isoformat(),
        pipeline_name=manifest.pipeline_name,
        sequence=manifest.sequence,
        manifest_hash=manifest.content_hash,
        tables={**tables, **{name: {"dropped": True} for name in manifest.removed_tables}},
        undoes=() if manifest.undo is None else manifest.undo.load_ids,
    )


def _table_sizes(manifest: Manifest) -> dict[str, int | None]:
    """Return the bytes of each table; None for a nested table whose rows are in the files of another."""
    sizes = job_sizes(manifest.tables, manifest.folders)
    return {entry.table: sizes[entry.job] or None for entry in manifest.tables}


def _stored_tables(ledger: Ledger, manifest: Manifest) -> Mapping[str, Table]:
    stored = ledger.last_schema(manifest.schema_name)
    tables = Schema.from_dict(json.loads(stored.schema)).tables if stored else {}
    return {name: table for name, table in tables.items() if name not in manifest.dropped}


def _schema_row(schema: Schema) -> StorageSchemaInfo:
    return StorageSchemaInfo(
        version=schema.version,
        engine_version=ENGINE_VERSION,
        inserted_at=_now(),
        schema_name=schema.name,
        version_hash=schema.version_hash,
        schema=as_json(schema.to_dict()).decode(),
    )


def _now() -> datetime:
    return datetime.now(UTC)
