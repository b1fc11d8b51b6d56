"""Packages and jobs as people and programs look at them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.interfaces.humanize import human_seconds, human_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.interfaces.job_file_name import ParsedLoadJobFileName
    from penstock.package.layout import TJobState, TLoadPackageStatus
    from penstock.schema import Schema


class LoadJobInfo(NamedTuple):
    """One job of a package. `file_size` is the size of its data, as whoever wrote it counted."""

    state: TJobState
    file_path: str
    file_size: int
    created_at: datetime
    elapsed: float
    job_file_info: ParsedLoadJobFileName
    failed_message: str | None = None
    rows: int | None = None

    def asdict(self) -> dict[str, Any]:
        """Plain data, with the parts of the name beside the rest."""
        name = self.job_file_info
        return {
            "state": self.state,
            "file_path": self.file_path,
            "file_size": self.file_size,
            "created_at": self.created_at,
            "elapsed": self.elapsed,
            "failed_message": self.failed_message,
            "rows": self.rows,
            **name._asdict(),
            "job_id": name.job_id(),
        }

    def asstr(self, verbosity: int = 0) -> str:
        """One line; with `verbosity` the message of a failed job follows."""
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
    """One package: how far it has come, its schema, and its jobs by the folder they stand in."""

    load_id: str
    package_path: str
    state: TLoadPackageStatus
    schema: Schema | None
    schema_update: Mapping[str, Any]
    completed_at: datetime | None
    jobs: Mapping[TJobState, Sequence[LoadJobInfo]]
    sequence: int | None = None

    @property
    def schema_name(self) -> str | None:
        """The name of the package's schema."""
        return self.schema.name if self.schema is not None else None

    @property
    def schema_hash(self) -> str | None:
        """The version hash of the package's schema."""
        return self.schema.version_hash if self.schema is not None else None

    def asdict(self) -> dict[str, Any]:
        """Plain data that can itself be loaded as tables: jobs and changed tables are flat lists."""
        return {
            "load_id": self.load_id,
            "package_path": self.package_path,
            "state": self.state,
            "completed_at": self.completed_at,
            "schema_name": self.schema_name,
            "schema_hash": self.schema_hash,
            "sequence": self.sequence,
            "jobs": [
                {"load_id": self.load_id, **job.asdict()} for jobs in self.jobs.values() for job in jobs
            ],
            "tables": [self._table(name, table) for name, table in self.schema_update.items()],
        }

    def asstr(self, verbosity: int = 0) -> str:
        """The package in lines; with `verbosity` every job and the changed tables follow."""
        counts = ", ".join(f"{len(jobs)} in {state}" for state, jobs in self.jobs.items() if jobs)
        size = human_size(sum(job.file_size for jobs in self.jobs.values() for job in jobs))
        lines = [
            f"The package with load id {self.load_id} for schema {self.schema_name} is {self.state.upper()}"
            + (f", sequence {self.sequence}" if self.sequence is not None else ""),
            f"It stands at {self.package_path} and has jobs: {counts or 'none'}; {size} of data",
        ]
        if self.completed_at is not None:
            lines.append(f"It was completed on {self.completed_at.isoformat(timespec='seconds')}")
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


def utc_datetime(seconds: float) -> datetime:
    """A time of a listing, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
