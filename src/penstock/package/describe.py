"""Looks at one package: a few small files and listings of job folders, never at data files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from penstock.errors import InvalidJobFileName, PackageDamaged
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.info import LoadJobInfo, LoadPackageInfo, utc_datetime
from penstock.package.layout import COMPLETED_FILE, JOB_STATES, NEW_JOBS, NORMALIZED_FILE, SCHEMA_FILE
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.job_listing import ListedJob
    from penstock.package.package import Package


def describe_package(package: Package) -> LoadPackageInfo:
    """The package as it stands. What jobs hold comes from what the normalize stage wrote down."""
    files = {entry.name: entry for entry in package.store.entries("")}
    board, named = package.jobs.list_jobs(), _current_job_ids(package)
    jobs = {
        state: job_infos(package, [job for job in board.in_state(state) if not _is_orphaned(job, named)])
        for state in JOB_STATES
    }
    completed = files.get(COMPLETED_FILE)
    mark = package.load_mark()
    return LoadPackageInfo(
        load_id=package.load_id,
        package_path=package.path,
        state=package.status,
        schema=read_schema(package) if SCHEMA_FILE in files else None,
        schema_update=package.applied_schema_updates() or package.schema_updates() or {},
        completed_at=utc_datetime(completed.modified) if completed else None,
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
        raise PackageDamaged(path=package.store.path(SCHEMA_FILE), reason=reason) from error


def job_infos(package: Package, jobs: Iterable[ListedJob]) -> list[LoadJobInfo]:
    """Jobs with the sizes that were counted when they were written, or the size of the file itself."""
    placed = list(jobs)
    facts = _job_counts(package) if placed else {}
    now = time.time()
    return [_job_info(package, job, facts.get(job.name.job_id(), {}), now) for job in placed]


def _job_info(package: Package, job: ListedJob, counts: Mapping[str, Any], now: float) -> LoadJobInfo:
    size = counts.get("bytes")
    return LoadJobInfo(
        state=job.state,
        file_path=package.store.path(job.path),
        file_size=job.size if size is None else size,
        created_at=utc_datetime(job.modified),
        elapsed=max(0.0, now - job.modified),
        job_file_info=job.name,
        failed_message=package.jobs.failed_message(job.name) if _has_failed(job) else None,
        rows=counts.get("rows"),
    )


def _current_job_ids(package: Package) -> frozenset[str] | None:
    """Return the ids of the jobs that count; None where normalize has not said which."""
    tables = package.read_normalized().get("tables")
    if tables is None:
        return None
    try:
        entries = [ParsedLoadJobFileName.parse(entry["job"]).job_id() for entry in tables]
    except (KeyError, TypeError, InvalidJobFileName) as error:
        reason = f"{error!r:.200} while its tables were read"
        raise PackageDamaged(path=package.store.path(NORMALIZED_FILE), reason=reason) from error
    return frozenset((*entries, *(job for jobs in package.followups().values() for job in jobs)))


def _is_orphaned(job: ListedJob, current_ids: frozenset[str] | None) -> bool:
    """Return whether a job is that of an attempt that was lost: it was never begun, and nothing names it."""
    return current_ids is not None and job.state == NEW_JOBS and job.name.job_id() not in current_ids


def _has_failed(job: ListedJob) -> bool:
    """Whether its last try came to no good end: it failed, or waits to be tried again."""
    return job.state == "failed_jobs" or (job.state != "completed_jobs" and job.name.retry_count > 0)


def _job_counts(package: Package) -> dict[str, Mapping[str, Any]]:
    jobs = package.read_normalized().get("jobs", [])
    if not isinstance(jobs, list) or not all(_is_job_count(job) for job in jobs):
        raise PackageDamaged(path=package.store.path(NORMALIZED_FILE), reason="its jobs are no list of jobs")
    return {job["job_id"]: job for job in jobs}


def _is_job_count(job: Any) -> bool:
    return (
        isinstance(job, dict)
        and isinstance(job.get("job_id"), str)
        and all(isinstance(job.get(count), int | None) for count in ("rows", "bytes"))
    )
