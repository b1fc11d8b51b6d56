"""Applies a sealed package: tables first, then schema and state, and the ledger's row last of all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.interfaces import CommitRecord, StoredSchemaRow, TableJob
from penstock.load.plan import MAX_WORKERS, waves
from penstock.load.report import PackageReport, TableReport
from penstock.package import ParsedLoadJobFileName
from penstock.package.storage import as_json
from penstock.schema import ENGINE_VERSION, Schema

if TYPE_CHECKING:
    from penstock.interfaces import AppliedJob, DestinationClient, LoadMark, StoredState
    from penstock.package import Manifest, Package, Packages, TableEntry
    from penstock.spark.own import SessionPool


def load(
    manifest: Manifest,
    package: Package,
    client: DestinationClient,
    *,
    state: StoredState,
    pool: SessionPool,
    packages: Packages,
) -> PackageReport:
    """Roll a sealed package forward. Any process may do it, any number of times: the result is the same."""
    started = time.monotonic()
    mark = manifest.mark
    schema = Schema.from_dict(dict(manifest.schema))
    ledger = client.ledger()
    ledger.initialize()
    applied = _apply_all(manifest, package, schema, client, mark, pool)
    packages.commit(manifest)
    ledger.store_schema(_schema_row(schema))
    last = ledger.last_state(manifest.pipeline_name)
    if last is None or last.version_hash != state.version_hash:
        ledger.store_state(state, schema_hash=schema.version_hash)
    ledger.commit(
        CommitRecord(
            load_id=manifest.load_id,
            schema_name=manifest.schema_name,
            schema_version_hash=schema.version_hash,
            inserted_at=_now(),
            pipeline_name=manifest.pipeline_name,
            sequence=manifest.sequence,
            manifest_hash=mark.manifest_hash,
            tables={
                job.table: {"before": job.version_before, "after": job.version_after, "rows": job.rows}
                for job in applied
            },
        )
    )
    packages.finish(manifest.load_id)
    tables = tuple(
        TableReport(table=job.table, rows=job.rows, version=job.version_after, skipped=job.skipped)
        for job in applied
    )
    return PackageReport(
        load_id=manifest.load_id,
        sequence=manifest.sequence,
        tables=tables,
        seconds=time.monotonic() - started,
    )


def _apply_all(
    manifest: Manifest,
    package: Package,
    schema: Schema,
    client: DestinationClient,
    mark: LoadMark,
    pool: SessionPool,
) -> list[AppliedJob]:
    """Tables of a wave side by side; a failing table lets the others of its wave finish and then raises."""

    def apply_one(entry: TableEntry) -> AppliedJob:
        frame = package.job(entry.job).frame
        job = TableJob(table=entry.table, write_disposition=entry.write_disposition, frame=frame)
        placed = package.jobs.board().jobs[ParsedLoadJobFileName.parse(entry.job).job_id()]
        if placed.state == "new_jobs":
            package.jobs.start(entry.job)
        with pool.session() as spark:
            applied = client.apply(job, mark, spark=spark)
        if placed.state != "completed_jobs":
            package.jobs.complete(entry.job, asdict(applied))
        return applied

    done: list[AppliedJob] = []
    for wave in waves(manifest.tables, schema.tables):
        with ThreadPoolExecutor(max_workers=MAX_WORKERS, thread_name_prefix="penstock-load") as workers:
            running = [workers.submit(apply_one, entry) for entry in wave]
        done += [future.result() for future in running]
    return done


def _schema_row(schema: Schema) -> StoredSchemaRow:
    return StoredSchemaRow(
        version=schema.version,
        engine_version=ENGINE_VERSION,
        inserted_at=_now(),
        schema_name=schema.name,
        version_hash=schema.version_hash,
        schema=as_json(schema.to_dict()).decode(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
