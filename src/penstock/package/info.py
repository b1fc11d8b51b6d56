"""Descriptions of packages and jobs, for programs and for printing.

They take a few small files and listings of job folders; no data file is read.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from penstock.errors import InvalidJobFileName, PackageDamaged
from penstock.interfaces.humanize import human_seconds, human_size
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.extract_manifest import ExtractManifest, extracted_job_name
from penstock.package.layout import (
    COMPLETED_FILE,
    EXTRACTED_FILE,
    JOB_STATES,
    NEW_JOBS,
    NORMALIZED_FILE,
    SCHEMA_FILE,
)
from penstock.package.slots import sealed_manifest
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.interfaces.refresh import TRefreshMode
    from penstock.package.job_folders import ListedJob
    from penstock.package.layout import TJobState, TLoadPackageStatus
    from penstock.package.package import Package
    from penstock.schema import NamingConvention


class LoadJobDocument(TypedDict):
    """A job of a package, as plain data."""

    state: TJobState
    file_path: str
    file_size: int
    """The size of its data in bytes."""
    created_at: datetime
    elapsed: float
    """The seconds since the job was created, or until it ended."""
    failed_message: str | None
    rows: int | None
    table_name: str
    file_id: str
    retry_count: int
    file_format: str
    is_compressed: bool
    job_id: str


class PackageJobDocument(LoadJobDocument):
    """A job of a package, with the id of the package."""

    load_id: str


class LoadPackageDocument(TypedDict):
    """A package with its jobs and the tables that it changes, as plain data."""

    load_id: str
    package_path: str
    state: TLoadPackageStatus
    completed_at: datetime | None
    schema_name: str | None
    schema_hash: str | None
    schema_migrated: bool
    """Whether the package adds or changes tables."""
    refresh: TRefreshMode | None
    """The refresh that the package applies."""
    dropped_tables: list[str]
    """Tables that its load drops or recreates; known once the package is sealed."""
    truncated_tables: list[str]
    """Tables whose rows its load deletes; known once the package is sealed."""
    sequence: int | None
    jobs: list[PackageJobDocument]
    tables: list[dict[str, Any]]
    """The tables that it adds or changes, with the columns that are new."""


class LoadJobInfo(NamedTuple):
    """One job of a package. `file_size` is the size of its data, counted when it was written."""

    state: TJobState
    file_path: str
    file_size: int
    created_at: datetime
    elapsed: float
    job_file_info: ParsedLoadJobFileName
    failed_message: str | None = None
    rows: int | None = None

    def asdict(self) -> dict[str, Any]:
        """Return plain data, including the parts of the job's name."""
        return dict(_job_document(self))

    def asstr(self, verbosity: int = 0) -> str:
        """Return one line; with `verbosity` the message of a failed job follows."""
        name = self.job_file_info
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        line = (
            f"Job {name.job_id()}, table={name.table_name} in {self.state}. "
            f"File type: {name.file_format}, size: {human_size(self.file_size)}{rows}. "
            f"Started on: {self.created_at.isoformat(timespec='seconds')} "
            f"and took {human_seconds(self.elapsed)}."
        )
        if verbosity > 0 and self.failed_message:
            line += f"\n{self.failed_message}"
        return line

    def __str__(self) -> str:
        return self.asstr()


class LoadPackageInfo(NamedTuple):
    """One package: its status, its schema, and its jobs by state."""

    load_id: str
    package_path: str
    state: TLoadPackageStatus
    schema: Schema | None
    schema_update: Mapping[str, Any]
    completed_at: datetime | None
    jobs: Mapping[TJobState, Sequence[LoadJobInfo]]
    refresh: TRefreshMode | None = None
    """The refresh that the package applies."""
    dropped_tables: Sequence[str] = ()
    """Tables that its load drops or recreates; known once the package is sealed."""
    truncated_tables: Sequence[str] = ()
    """Tables whose rows its load deletes; known once the package is sealed."""
    sequence: int | None = None

    @property
    def schema_name(self) -> str | None:
        """The name of the package's schema."""
        return self.schema.name if self.schema is not None else None

    @property
    def schema_hash(self) -> str | None:
        """The version hash of the package's schema."""
        return self.schema.version_hash if self.schema is not None else None

    @property
    def schema_migrated(self) -> bool:
        """Whether the package adds or changes tables."""
        return bool(self.schema_update)

    def asdict(self) -> dict[str, Any]:
        """Return plain data that can itself be loaded as tables: jobs and changed tables are flat lists."""
        document: LoadPackageDocument = {
            "load_id": self.load_id,
            "package_path": self.package_path,
            "state": self.state,
            "completed_at": self.completed_at,
            "schema_name": self.schema_name,
            "schema_hash": self.schema_hash,
            "schema_migrated": self.schema_migrated,
            "refresh": self.refresh,
            "dropped_tables": list(self.dropped_tables),
            "truncated_tables": list(self.truncated_tables),
            "sequence": self.sequence,
            "jobs": [package_job_document(self.load_id, job) for jobs in self.jobs.values() for job in jobs],
            "tables": [self._table(name, table) for name, table in self.schema_update.items()],
        }
        return dict(document)

    def asstr(self, verbosity: int = 0) -> str:
        """Return the package in lines; with `verbosity` every job and the changed tables follow."""
        counts = ", ".join(f"{len(jobs)} in {state}" for state, jobs in self.jobs.items() if jobs)
        size = human_size(sum(job.file_size for jobs in self.jobs.values() for job in jobs))
        lines = [
            f"The package with load id {self.load_id} for schema {self.schema_name} is {self.state.upper()}"
            + (f", sequence {self.sequence}" if self.sequence is not None else ""),
            f"It is stored at {self.package_path} and has jobs: {counts or 'none'}; {size} of data",
        ]
        if self.completed_at is not None:
            lines.append(f"It was completed on {self.completed_at.isoformat(timespec='seconds')}")
        if self.refresh is not None:
            lines.append(f"It refreshes the dataset with {self.refresh!r}")
        lines += [
            f"{effect} tables: {', '.join(tables)}"
            for effect, tables in (("Dropped", self.dropped_tables), ("Truncated", self.truncated_tables))
            if tables
        ]
        failed = self.jobs.get("failed_jobs", ())
        shown = [job for jobs in self.jobs.values() for job in jobs] if verbosity > 0 else failed
        lines += [f"  {job.asstr(verbosity=1)}" for job in shown]
        if verbosity > 0:
            lines += [
                f"  Table {name}: {', '.join(table.get('columns', {}))}"
                for name, table in self.schema_update.items()
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.asstr()

    def _table(self, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        own = {"load_id": self.load_id, "schema_name": self.schema_name, "table_name": name}
        columns = [{**own, **column} for column in table.get("columns", {}).values()]
        return {**own, **{key: value for key, value in table.items() if key != "columns"}, "columns": columns}


def package_job_document(load_id: str, job: LoadJobInfo) -> PackageJobDocument:
    """Return a job as plain data, with the id of its package."""
    return {"load_id": load_id, **_job_document(job)}


def _job_document(job: LoadJobInfo) -> LoadJobDocument:
    name = job.job_file_info
    return {
        "state": job.state,
        "file_path": job.file_path,
        "file_size": job.file_size,
        "created_at": job.created_at,
        "elapsed": job.elapsed,
        "failed_message": job.failed_message,
        "rows": job.rows,
        "table_name": name.table_name,
        "file_id": name.file_id,
        "retry_count": name.retry_count,
        "file_format": name.file_format,
        "is_compressed": name.is_compressed,
        "job_id": name.job_id(),
    }


def describe_package(package: Package) -> LoadPackageInfo:
    """Return the description of a package, with the rows and bytes that were counted.

    The jobs of an extracted package are its tables: normalize writes the job files.
    """
    files = {entry.name: entry for entry in package.store.entries("")}
    extracted = _extract_manifest(package) if EXTRACTED_FILE in files else None
    schema = read_schema(package) if SCHEMA_FILE in files else _extracted_schema(extracted)
    listing, current_ids = package.jobs.list_jobs(), _current_job_ids(package)
    jobs = {
        state: job_infos(
            package, [job for job in listing.in_state(state) if not _is_orphaned(job, current_ids)]
        )
        for state in JOB_STATES
    }
    completed = files.get(COMPLETED_FILE)
    if extracted and schema and completed is None and NORMALIZED_FILE not in files:
        created_at = _utc_datetime(files[EXTRACTED_FILE].modified)
        jobs[NEW_JOBS] += _extracted_jobs(package, extracted, schema.naming, created_at)
    mark = package.load_mark()
    refresh = None if extracted is None or extracted.refresh is None else extracted.refresh.mode
    dropped: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    if mark is not None and refresh is not None:
        manifest = sealed_manifest(package, mark)
        dropped, truncated = tuple(manifest.dropped), manifest.truncated
    return LoadPackageInfo(
        load_id=package.load_id,
        package_path=package.path,
        state=package.status,
        schema=schema,
        schema_update=package.applied_schema_updates() or package.schema_updates() or {},
        completed_at=_utc_datetime(completed.modified) if completed else None,
        jobs=jobs,
        refresh=refresh,
        dropped_tables=dropped,
        truncated_tables=truncated,
        sequence=mark.sequence if mark else None,
    )


def read_schema(package: Package) -> Schema:
    """Return the schema in the package."""
    document = package.schema()
    try:
        return Schema.from_dict(document)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"{error!r:.200} while a schema was read"
        raise PackageDamaged(path=package.store.path(SCHEMA_FILE), reason=reason) from error


def schema_name_of(package: Package) -> str:
    """Return the name of the package's schema, also before normalize writes the schema."""
    extracted = _extract_manifest(package)
    return extracted.schema_name if extracted is not None else str(package.schema()["name"])


def _extract_manifest(package: Package) -> ExtractManifest | None:
    """Return what extract wrote; None for a package that was not made by a run."""
    document = package.read_extracted()
    path = package.store.path(EXTRACTED_FILE)
    return ExtractManifest.from_dict(document, path=path) if "schema_name" in document else None


def _extracted_schema(extracted: ExtractManifest | None) -> Schema | None:
    """Return the schema of the source, or else an empty one with the name that the package has."""
    if extracted is None:
        return None
    return Schema(extracted.schema_name) if extracted.schema is None else Schema.from_dict(extracted.schema)


def _extracted_jobs(
    package: Package, extracted: ExtractManifest, naming: NamingConvention, created_at: datetime
) -> list[LoadJobInfo]:
    """Return a new job for each extracted table; its file is the folder with the rows."""
    elapsed = max(0.0, time.time() - created_at.timestamp())
    return [
        LoadJobInfo(
            state="new_jobs",
            file_path=package.store.path(table.folder),
            file_size=table.bytes,
            created_at=created_at,
            elapsed=elapsed,
            job_file_info=extracted_job_name(table, naming),
            rows=table.rows,
        )
        for table in extracted.tables
    ]


def job_infos(package: Package, jobs: Iterable[ListedJob]) -> list[LoadJobInfo]:
    """Return jobs with the counted size of their data, or else the size of the job file."""
    listed = list(jobs)
    counts = _job_counts(package) if listed else {}
    now = time.time()
    return [_job_info(package, job, counts.get(job.name.job_id(), {}), now) for job in listed]


def _job_info(package: Package, job: ListedJob, counts: Mapping[str, Any], now: float) -> LoadJobInfo:
    size = counts.get("bytes")
    return LoadJobInfo(
        state=job.state,
        file_path=package.store.path(job.path),
        file_size=job.size if size is None else size,
        created_at=_utc_datetime(job.modified),
        elapsed=max(0.0, now - job.modified),
        job_file_info=job.name,
        failed_message=package.jobs.failed_message(job.name) if _has_failed(job) else None,
        rows=counts.get("rows"),
    )


def _current_job_ids(package: Package) -> frozenset[str] | None:
    """Return the ids of the jobs that normalize and follow-ups recorded; None before normalize."""
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
    """Return whether a job is left over from a lost attempt: new, and not recorded."""
    return current_ids is not None and job.state == NEW_JOBS and job.name.job_id() not in current_ids


def _has_failed(job: ListedJob) -> bool:
    """Return whether the last try of a job failed, finally or with a retry to come."""
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


def _utc_datetime(seconds: float) -> datetime:
    """Return a time of a listing, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
