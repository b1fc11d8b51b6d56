"""Applies a sealed package: its jobs, then schema and state, and the ledger's row last of all."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import LoadCompletedElsewhere
from penstock.interfaces import CommitRecord, StorageSchemaInfo, WithUndo
from penstock.interfaces.progress import Collector
from penstock.load.engine import LoadEngine
from penstock.load.intact import verify_data_files
from penstock.load.job_board import JobBoard
from penstock.load.plan import chains_of, results_by_table
from penstock.load.prepare import prepare_destination
from penstock.load.progress import JobProgress
from penstock.load.refresh import drop_removed_tables
from penstock.load.report import FailedJob, PackageReport, TableReport
from penstock.package import Retention, package_context
from penstock.package.manifest import job_sizes
from penstock.package.storage import as_json
from penstock.schema import ENGINE_VERSION, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces import AppliedJob, Ledger, LoadMark, StateInfo
    from penstock.load.settings import LoaderConfiguration
    from penstock.load.worker import ClientFactory
    from penstock.package import Manifest, Package, Packages
    from penstock.schema import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTarget:
    """Where a load goes, and where it is written down."""

    client_factory: ClientFactory
    ledger: Ledger
    packages: Packages
    assert_leased: Callable[[], None]
    """Raises when another run has taken over; asked before anything that lasts."""
    retention: Retention
    collector: Collector = field(default_factory=Collector)
    """Who is told how the jobs stand."""
    on_committed: Callable[[Manifest], None] = lambda manifest: None
    """Told of a load that counts before its package is finished: so it is told again after a crash."""


def load(
    manifest: Manifest, target: LoadTarget, *, state: StateInfo, load_settings: LoaderConfiguration
) -> PackageReport:
    """Roll a sealed package forward. Any process may do it, any number of times: the result is the same."""
    started = time.monotonic()
    package, opener = target.packages.package(manifest.load_id), target.client_factory
    chains = chains_of(manifest.tables, opener.schema.tables)
    sizes = _table_sizes(manifest)
    clear = None if opener.destination.capabilities.renews_tables else manifest
    if manifest.is_refresh:
        # What is let go must be replaced by all that belongs in its place.
        load_settings = load_settings.model_copy(update={"raise_on_failed_jobs": True})
    work = JobBoard(package, target.packages.normalized_packages, chains)
    named = [
        *(folder.path for folder in manifest.folders),
        *(path for entry in manifest.tables for path in entry.folders),
    ]
    package.remove_orphaned_attempts(named)
    verify_data_files(package, work.unread_folders(manifest))
    target.ledger.initialize()
    with _load_package_context(package, state):
        with opener.client() as client:
            staged = prepare_destination(
                client, package, chains, lambda: _tables_before(target.ledger, manifest), clear
            )
        told = JobProgress(target.collector, sizes)
        engine = LoadEngine(
            work,
            opener,
            mark=manifest.mark,
            staged_jobs=staged,
            load_settings=load_settings,
            progress=told,
            assert_leased=target.assert_leased,
        )
        engine.run()
        _verify_earlier_commits(work, opener, manifest.mark)
        applied = results_by_table(work.results())
        target.assert_leased()
        # Those before it may all have been given up.
        is_first = manifest.sequence == 1 or target.ledger.last_commit(manifest.pipeline_name) is None
        target.packages.commit(manifest)
        if not _commit_to_ledger(manifest, target, state, applied):
            # Whether by another run or by a copy of the package: what this run reports is not what counts.
            raise LoadCompletedElsewhere(load_id=manifest.load_id, sequence=manifest.sequence)
        drop_removed_tables(opener, manifest, target.assert_leased, is_last_attempt=False)
        with opener.client() as client:
            client.complete_load(manifest.load_id)
    target.on_committed(manifest)
    target.packages.finish(manifest.load_id, retention=target.retention)
    return PackageReport(
        load_id=manifest.load_id,
        sequence=manifest.sequence,
        tables=tuple(
            TableReport(
                table=job.table,
                rows=job.rows,
                version=job.version_after,
                skipped=job.skipped,
                bytes=sizes.get(job.table),
            )
            for job in applied.values()
        ),
        failed_jobs=tuple(
            FailedJob(job_id=job, failed_message=message) for job, message in work.failed_messages().items()
        ),
        seconds=time.monotonic() - started,
        is_first=is_first,
    )


def _verify_earlier_commits(job_board: JobBoard, client_factory: ClientFactory, mark: LoadMark) -> None:
    """Ask the tables that an earlier process wrote to whether they still show the rows of the load.

    An operator may have restored one since, and a load must not be completed without its rows.
    """
    earlier = job_board.earlier_results()
    if not earlier:
        return
    with client_factory.client() as client:
        if isinstance(client, WithUndo):
            for applied in earlier:
                client.verify(applied, mark)


def finish_committed_load(manifest: Manifest, target: LoadTarget, *, state: StateInfo) -> None:
    """A load that is in the ledger is complete; what a process that died left undone is done here."""
    package = target.packages.package(manifest.load_id)
    drop_removed_tables(target.client_factory, manifest, target.assert_leased, is_last_attempt=True)
    with _load_package_context(package, state), target.client_factory.client() as client:
        client.complete_load(manifest.load_id)
    target.on_committed(manifest)
    target.packages.finish(manifest.load_id, retention=target.retention)


@contextmanager
def _load_package_context(package: Package, state: StateInfo) -> Iterator[None]:
    """What `load_package` gives; destinations that keep states find the pipeline's where dlt has it."""
    with package_context(package) as document:
        kept = {**state._asdict(), "created_at": state.created_at.isoformat()}
        cast("dict[str, Any]", document["state"])["pipeline_state"] = kept
        yield


def _commit_to_ledger(
    manifest: Manifest, target: LoadTarget, state: StateInfo, applied: Mapping[str, AppliedJob]
) -> bool:
    """Write schema and state, then the commit by which they count; return False where there was one.

    A process that is late must not make its schema the newest, so the ledger is asked first.
    """
    if target.ledger.find_commit(schema_name=manifest.schema_name, load_id=manifest.load_id) is not None:
        return False
    schema = Schema.from_dict(dict(manifest.schema))
    target.ledger.store_schema(_schema_row(schema))
    last = target.ledger.last_state(manifest.pipeline_name)
    if last is None or last.version_hash != state.version_hash:
        target.ledger.store_state(state, schema_hash=schema.version_hash)
    return target.ledger.commit(
        CommitRecord(
            load_id=manifest.load_id,
            schema_name=manifest.schema_name,
            schema_version_hash=schema.version_hash,
            inserted_at=_now().isoformat(),
            pipeline_name=manifest.pipeline_name,
            sequence=manifest.sequence,
            manifest_hash=manifest.content_hash,
            tables={
                **{
                    job.table: {"before": job.version_before, "after": job.version_after, "rows": job.rows}
                    for job in applied.values()
                },
                **{name: {"dropped": True} for name in manifest.removed_tables},
            },
        )
    )


def _table_sizes(manifest: Manifest) -> dict[str, int | None]:
    """Bytes of each table in the package; a table nested in another one may stand in its files."""
    sizes = job_sizes(manifest.tables, manifest.folders)
    return {entry.table: sizes[entry.job] or None for entry in manifest.tables}


def _tables_before(ledger: Ledger, manifest: Manifest) -> Mapping[str, Table]:
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
