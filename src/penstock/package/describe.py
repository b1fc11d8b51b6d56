"""Looks at one package: a few small files and listings of job folders, never at data files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from penstock.errors import InvalidJobFileName, PackageDamaged
from penstock.interfaces.jobs import ParsedLoadJobFileName
from penstock.package.info import LoadJobInfo, LoadPackageInfo, moment
from penstock.package.layout import COMPLETED, JOB_STATES, NEW_JOBS, NORMALIZED, SCHEMA
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.board import Placed
    from penstock.package.package import Package


def describe(package: Package) -> LoadPackageInfo:
    """The package as it stands. What jobs hold comes from what the normalize stage wrote down."""
    files = {entry.name: entry for entry in package.store.entries("")}
    board, named = package.jobs.board(), _named_jobs(package)
    jobs = {
        state: job_infos(package, [job for job in board.having(state) if not _is_lost(job, named)])
        for state in JOB_STATES
    }
    completed = files.get(COMPLETED)
    mark = package.mark()
    return LoadPackageInfo(
        load_id=package.load_id,
        package_path=package.path,
        state=package.status,
        schema=read_schema(package) if SCHEMA in files else None,
        schema_update=package.applied_schema_updates() or package.schema_updates() or {},
        completed_at=moment(completed.modified) if completed else None,
        jobs=jobs,
        sequence=mark.sequence if mark else None,
    )


def read_schema(package: Package) -> Schema:
    """The schema that stands in the package."""
    document = package.schema()
    try:
        return Schema.from_dict(document)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"{error!r:.200} while a schema was read"
        raise PackageDamaged(path=package.store.path(SCHEMA), reason=reason) from error


def job_infos(package: Package, jobs: Iterable[Placed]) -> list[LoadJobInfo]:
    """Jobs with the sizes that were counted when they were written, or the size of the file itself."""
    placed = list(jobs)
    facts = _facts(package) if placed else {}
    now = time.time()
    return [_info(package, job, facts.get(job.name.job_id(), {}), now) for job in placed]


def _info(package: Package, job: Placed, facts: Mapping[str, Any], now: float) -> LoadJobInfo:
    size = facts.get("bytes")
    return LoadJobInfo(
        state=job.state,
        file_path=package.store.path(job.path),
        file_size=job.size if size is None else size,
        created_at=moment(job.modified),
        elapsed=max(0.0, now - job.modified),
        job_file_info=job.name,
        failed_message=package.jobs.failed_message(job.name) if _has_failed(job) else None,
        rows=facts.get("rows"),
    )


def _named_jobs(package: Package) -> frozenset[str] | None:
    """Return the ids of the jobs that count; None where normalize has not said which."""
    tables = package.normalized().get("tables")
    if tables is None:
        return None
    try:
        entries = [ParsedLoadJobFileName.parse(entry["job"]).job_id() for entry in tables]
    except (KeyError, TypeError, InvalidJobFileName) as error:
        reason = f"{error!r:.200} while its tables were read"
        raise PackageDamaged(path=package.store.path(NORMALIZED), reason=reason) from error
    return frozenset((*entries, *(job for jobs in package.followups().values() for job in jobs)))


def _is_lost(job: Placed, named: frozenset[str] | None) -> bool:
    """Return whether a job is that of an attempt that was lost: it was never begun, and nothing names it."""
    return named is not None and job.state == NEW_JOBS and job.name.job_id() not in named


def _has_failed(job: Placed) -> bool:
    """Whether its last try came to no good end: it failed, or waits to be tried again."""
    return job.state == "failed_jobs" or (job.state != "completed_jobs" and job.name.retry_count > 0)


def _facts(package: Package) -> dict[str, Mapping[str, Any]]:
    jobs = package.normalized().get("jobs", [])
    if not isinstance(jobs, list) or not all(_is_fact(job) for job in jobs):
        raise PackageDamaged(path=package.store.path(NORMALIZED), reason="its jobs are no list of jobs")
    return {job["job_id"]: job for job in jobs}


def _is_fact(job: Any) -> bool:
    return (
        isinstance(job, dict)
        and isinstance(job.get("job_id"), str)
        and all(isinstance(job.get(count), int | None) for count in ("rows", "bytes"))
    )
