"""The load packages below one address, with the interface of dlt's `PackageStorage`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from fsspec.core import split_protocol

from penstock.errors import InvalidJobFileName, UsageError
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package import layout
from penstock.package.info import describe_package, job_infos, read_schema, schema_name_of
from penstock.package.layout import FINISHED_STATUSES, TLoadPackageStatus, check_load_id, is_load_id
from penstock.package.package import Package
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.info import LoadJobInfo, LoadPackageInfo
    from penstock.package.layout import TJobState, TLoadPackageState
    from penstock.schema import Schema

_FINISHED_FOLDER = ".finished"


class PackageStorage:
    """Manages the load packages below `storage`.

    A package never moves: its status is a marker in it. `initial_state` is the status of the packages that
    `create_package` creates.

    >>> storage = PackageStorage(FileStorage("memory://packages"), "new")
    >>> storage.create_package("1794700870.5")
    >>> storage.list_packages()
    ['1794700870.5']
    """

    NEW_JOBS_FOLDER: Final = layout.NEW_JOBS
    FAILED_JOBS_FOLDER: Final = layout.FAILED_JOBS
    STARTED_JOBS_FOLDER: Final = layout.STARTED_JOBS
    COMPLETED_JOBS_FOLDER: Final = layout.COMPLETED_JOBS
    SCHEMA_FILE_NAME: Final = layout.SCHEMA_FILE
    SCHEMA_UPDATES_FILE_NAME: Final = layout.SCHEMA_UPDATES_FILE
    APPLIED_SCHEMA_UPDATES_FILE_NAME: Final = layout.APPLIED_SCHEMA_UPDATES_FILE
    """Updates applied to the destination."""
    PACKAGE_COMPLETED_FILE_NAME: Final = layout.COMPLETED_FILE
    LOAD_PACKAGE_STATE_FILE_NAME: Final = layout.STATE_FILE

    def __init__(self, storage: FileStorage, initial_state: TLoadPackageStatus) -> None:
        self.storage = storage
        self.initial_state = initial_state

    def package(self, load_id: str) -> Package:
        """Return the package with that id, which need not exist."""
        return Package(self.storage.subfolder(check_load_id(load_id)), load_id)

    def list_packages(self) -> Sequence[str]:
        """List the load ids of all packages, earliest first.

        Ids are sorted as text, which for generated ids is by time.
        """
        finished, others = self._split_by_finished()
        # On a disk an interrupted delete may leave an empty folder.
        return sorted([*finished, *(name for name in others if self.package(name).exists())])

    def list_packages_with_status(self, status: TLoadPackageStatus) -> Sequence[str]:
        """List the load ids of the packages with a status, earliest first; all finished ones for `loaded`."""
        if status not in FINISHED_STATUSES:
            return self.list_unfinished_packages(status)
        return sorted(chain(*self.list_finished_packages()))

    def list_unfinished_packages(self, *statuses: TLoadPackageStatus) -> Sequence[str]:
        """List the load ids of unfinished packages with one of these statuses, earliest first."""
        return [name for name, status in self.unfinished_statuses().items() if status in statuses]

    def unfinished_statuses(self) -> dict[str, TLoadPackageStatus]:
        """Return the statuses of unfinished packages by load id, earliest first."""
        statuses = {name: self.package(name).status for name in self._split_by_finished()[1]}
        return {
            name: status
            for name, status in statuses.items()
            # On a disk an interrupted delete may leave an empty folder.
            if status not in FINISHED_STATUSES and (status != "new" or self.package(name).exists())
        }

    def list_finished_packages(self) -> tuple[Sequence[str], Sequence[str]]:
        """List the load ids of finished packages: those that are recorded as finished, and the others."""
        finished, others = self._split_by_finished()
        return finished, self._completed_among(others)

    def newest_load_id(self) -> str | None:
        """Return the highest load id, of any status."""
        return max(self._list_load_ids(), default=None)

    def list_unrecorded_packages(self) -> Sequence[str]:
        """List the load ids of finished packages that are not recorded as finished."""
        return self.list_finished_packages()[1]

    def list_new_jobs(self, load_id: str) -> Sequence[str]:
        """List the paths of new jobs, relative to this storage."""
        return self._job_paths(load_id, layout.NEW_JOBS)

    def list_started_jobs(self, load_id: str) -> Sequence[str]:
        """List the paths of started jobs, relative to this storage."""
        return self._job_paths(load_id, layout.STARTED_JOBS)

    def list_failed_jobs(self, load_id: str) -> Sequence[str]:
        """List the paths of failed jobs, relative to this storage."""
        return self._job_paths(load_id, layout.FAILED_JOBS)

    def list_completed_jobs(self, load_id: str) -> Sequence[str]:
        """List the paths of completed jobs, relative to this storage."""
        return self._job_paths(load_id, layout.COMPLETED_JOBS)

    def list_all_jobs_with_states(self, load_id: str) -> Sequence[tuple[TJobState, ParsedLoadJobFileName]]:
        """List every job once, with its effective state."""
        jobs = self.package(load_id).require_exists().jobs.list_jobs().jobs.values()
        return [(job.state, job.name) for job in jobs]

    def list_job_with_states_for_table(
        self, load_id: str, table_name: str
    ) -> Sequence[tuple[TJobState, ParsedLoadJobFileName]]:
        """List the jobs of one table, with their states."""
        jobs = self.list_all_jobs_with_states(load_id)
        return [(state, name) for state, name in jobs if name.table_name == table_name]

    def list_failed_jobs_infos(self, load_id: str) -> Sequence[LoadJobInfo]:
        """List all failed jobs of a finished package, with their messages."""
        package = self.package(load_id).require_exists()
        failed = package.jobs.list_failed(load_id=load_id, completed=self.is_package_completed(load_id))
        return job_infos(package, failed)

    def import_job(self, load_id: str, job_file_path: str, job_state: TJobState = "new_jobs") -> None:
        """Add a job by moving the file at `job_file_path` into a job folder of the package."""
        if job_state not in layout.JOB_STATES:
            raise UsageError(f"{job_state!r} is no state of a job", hint=f"use one of {layout.JOB_STATES}")
        source, name = self._locate_file(job_file_path)
        ParsedLoadJobFileName.parse(name)
        package = self.package(load_id).require_exists()
        content = source.read(name)
        # Missing there but imported: an earlier call was interrupted before its delete.
        if content is None and not package.store.has_file(f"{job_state}/{name}"):
            raise UsageError(f"no job file exists at {job_file_path}", hint="write it before importing it")
        if content is not None:
            package.jobs.add(name, content, job_state)
            source.delete(name)

    def start_job(self, load_id: str, file_name: str) -> str:
        """Move a job from new to started; return its full address, for the destination."""
        package = self.package(load_id)
        return package.store.path(package.jobs.start(file_name))

    def complete_job(
        self,
        load_id: str,
        file_name: str,
        result: Mapping[str, Any] | None = None,
        *,
        is_leased: bool = False,
    ) -> str:
        """Move a job from started to completed, with its result; return the full address.

        `is_leased` means that the caller has just checked its lease.
        """
        package = self.package(load_id)
        return package.store.path(package.jobs.complete(file_name, result, is_leased=is_leased))

    def retry_job(
        self,
        load_id: str,
        file_name: str,
        failed_message: str | None = None,
        exception_type: str | None = None,
    ) -> str:
        """Move a job from started to new with one more try; return the new file name."""
        return self.package(load_id).jobs.retry(file_name, failed_message, exception_type)

    def retry_failed_job(self, load_id: str, file_name: str) -> str:
        """Move a job from failed to new with one more try; return the new file name."""
        return self.package(load_id).jobs.retry_failed(file_name)

    def list_retried_new_jobs(self, load_id: str) -> Sequence[tuple[str, TJobState]]:
        """List the file names of jobs that were tried and are not completed, with their states."""
        jobs = self.package(load_id).require_exists().jobs.list_jobs()
        return [
            (job.name.file_name(), job.state)
            for job in jobs.in_state(layout.NEW_JOBS, layout.STARTED_JOBS)
            if job.name.retry_count
        ]

    def fail_retried_job(self, load_id: str, file_name: str) -> str:
        """Move a job that was tried and is new again to failed; return the full address."""
        package = self.package(load_id)
        return package.store.path(package.jobs.fail_retried(file_name))

    def fail_job(self, load_id: str, file_name: str, failed_message: str | None = None) -> str:
        """Move a job from started to failed, with its message; return the full address."""
        package = self.package(load_id)
        return package.store.path(package.jobs.fail(file_name, failed_message))

    def completed_results(self, load_id: str) -> dict[str, dict[str, Any]]:
        """Return the results of completed jobs, by job id."""
        jobs = self.package(load_id).jobs
        results = {
            job.name.job_id(): jobs.result(job.name) for job in jobs.list_jobs().in_state("completed_jobs")
        }
        return {job_id: result for job_id, result in results.items() if result is not None}

    def create_package(
        self, load_id: str, initial_state: TLoadPackageState | None = None, schema: Schema | None = None
    ) -> None:
        """Create a package with the status of this storage."""
        package = self.package(load_id)
        package.create(initial_state)
        if schema is not None:
            package.save_schema(dict(schema.to_dict()))
        if self.initial_state == "new":
            return
        if self.initial_state == "planned":
            package.mark_planned()
        package.mark_extracted({})
        if self.initial_state != "extracted":
            package.mark_normalized({})
        if self.initial_state in FINISHED_STATUSES:
            package.complete(self.initial_state)

    def complete_loading_package(self, load_id: str, load_state: TLoadPackageStatus) -> str:
        """Finish a package with the status `load_state`; return its path.

        Its data is kept until `Packages.apply_retention`.
        """
        return self.package(load_id).require_exists().complete(load_state, exist_ok=False)

    def record_finished(self, load_id: str) -> None:
        """Record a finished package, so that searches for pending ones skip its folder.

        The record need not be durable: without it the package is finished again.
        """
        self.storage.put(f"{_FINISHED_FOLDER}/{check_load_id(load_id)}", b"", durable=False)

    def is_package_completed(self, load_id: str) -> bool:
        """Return whether the package is finished."""
        return self.package(load_id).final_status() is not None

    def remove_completed_jobs(self, load_id: str) -> None:
        """Delete completed jobs, unless the package has failed jobs."""
        self.package(load_id).require_exists().jobs.remove_completed()

    def delete_package(self, load_id: str, not_exists_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - dlt's signature
        """Delete a package with its data."""
        package = self.package(load_id)
        if not not_exists_ok:
            package.require_exists()
        package.delete()
        self.storage.delete_file(f"{_FINISHED_FOLDER}/{load_id}")

    def schema_name(self, load_id: str) -> str:
        """Return the name of the package's schema."""
        return schema_name_of(self.package(load_id).require_exists())

    def load_schema(self, load_id: str) -> Schema:
        """Return the package's schema."""
        return read_schema(self.package(load_id).require_exists())

    def save_schema(self, load_id: str, schema: Schema) -> None:
        """Write the package's schema."""
        self.package(load_id).require_exists().save_schema(dict(schema.to_dict()))

    def save_schema_updates(self, load_id: str, schema_update: Mapping[str, Any]) -> None:
        """Write the tables that the destination must change for this package."""
        self.package(load_id).require_exists().save_schema_updates(schema_update)

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """Describe a package: status, schema, jobs and their states."""
        return describe_package(self.package(load_id).require_exists())

    def get_load_package_jobs(self, load_id: str) -> Mapping[TJobState, Sequence[ParsedLoadJobFileName]]:
        """Return the names of all jobs, by state."""
        listing = self.package(load_id).require_exists().jobs.list_jobs()
        return {state: [job.name for job in listing.in_state(state)] for state in layout.JOB_STATES}

    def get_job_failed_message(self, load_id: str, job: ParsedLoadJobFileName) -> str | None:
        """Return the message of a failed job."""
        return self.package(load_id).jobs.failed_message(job)

    def cancel(self, load_id: str) -> None:
        """Cancel a package: processes that work on it stop at their next check."""
        self.package(load_id).require_exists().cancel()

    def raise_if_cancelled(self, load_id: str) -> None:
        """Raise `LoadPackageCancelled` if the package was cancelled."""
        self.package(load_id).raise_if_cancelled()

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """Return the state of a package."""
        return self.package(load_id).require_exists().state()

    def save_load_package_state(self, load_id: str, state: TLoadPackageState) -> None:
        """Write the state of a package."""
        self.package(load_id).require_exists().save_state(state)

    @staticmethod
    def is_package_partially_loaded(package_info: LoadPackageInfo) -> bool:
        """Return whether some jobs ran: of a finished package not all, of a pending one any."""
        count = {state: len(jobs) for state, jobs in package_info.jobs.items()}
        if package_info.state in FINISHED_STATUSES:
            done = count.get("completed_jobs", 0)
            return 0 < done < sum(count.values())
        return sum(count.values()) > count.get("new_jobs", 0)

    @staticmethod
    def build_job_file_name(
        table_name: str, file_id: str, retry_count: int = 0, *, loader_file_format: str = "reference"
    ) -> str:
        """Return the name of a job file; refuse one that cannot be parsed."""
        name = ParsedLoadJobFileName(table_name, file_id, retry_count, loader_file_format).file_name()
        if "/" in name:
            raise InvalidJobFileName(file_name=name[:80], reason="it contains a folder")
        return ParsedLoadJobFileName.parse(name).file_name()

    @staticmethod
    def filter_jobs_for_table(all_jobs: Iterable[LoadJobInfo], table_name: str) -> Sequence[LoadJobInfo]:
        """Return the jobs of one table."""
        return [job for job in all_jobs if job.job_file_info.table_name == table_name]

    def _split_by_finished(self) -> tuple[list[str], list[str]]:
        """Return the packages recorded as finished, and the others: two listings."""
        finished = set(self.storage.names(_FINISHED_FOLDER))
        names = self._list_load_ids()
        return [name for name in names if name in finished], [name for name in names if name not in finished]

    def _list_load_ids(self) -> list[str]:
        """List the load ids of all packages, earliest first."""
        return [
            entry.name for entry in self.storage.entries("") if entry.is_folder and is_load_id(entry.name)
        ]

    def _locate_file(self, path: str) -> tuple[FileStorage, str]:
        """Return the storage of a file, with this connection if the protocol is the same, and its name."""
        folder, _, name = path.replace("\\", "/").rpartition("/")
        if split_protocol(self.storage.root)[0] == split_protocol(folder)[0]:
            return self.storage.with_root(folder or "."), name
        return FileStorage(folder or "."), name

    def _completed_among(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.package(name).final_status() is not None]

    def _job_paths(self, load_id: str, state: TJobState) -> Sequence[str]:
        jobs = self.package(load_id).require_exists().jobs.list_jobs().in_state(state)
        return [f"{load_id}/{job.path}" for job in jobs]
