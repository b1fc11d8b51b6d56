"""The packages below one address, as their reference page describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from fsspec.core import split_protocol

from penstock.errors import InvalidJobFileName, UsageError
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package import layout
from penstock.package.info import describe_package, job_infos, read_schema
from penstock.package.layout import FINISHED_STATUSES, TLoadPackageStatus, check_load_id, is_load_id
from penstock.package.package import Package
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.info import LoadJobInfo, LoadPackageInfo
    from penstock.package.layout import TJobState, TLoadPackageState
    from penstock.schema import Schema

_FINISHED_FOLDER = ".finished"
_PENDING_STATUSES: Final[frozenset[TLoadPackageStatus]] = frozenset(("extracted", "normalized"))


class PackageStorage:
    """Manages the load packages below `storage`.

    Packages stay where they are: their status is a marker in them. `initial_state` is the status of the
    packages that `create_package` makes here and that `list_packages` lists.

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
    """updates applied to the destination"""
    PACKAGE_COMPLETED_FILE_NAME: Final = layout.COMPLETED_FILE
    LOAD_PACKAGE_STATE_FILE_NAME: Final = layout.STATE_FILE

    def __init__(self, storage: FileStorage, initial_state: TLoadPackageStatus) -> None:
        self.storage = storage
        self.initial_state = initial_state

    def package(self, load_id: str) -> Package:
        """The package with that id, there or not yet."""
        return Package(self.storage.subfolder(check_load_id(load_id)), load_id)

    def list_packages(self) -> Sequence[str]:
        """List the load ids of the packages that have this storage's status, earliest first.

        Ids are sorted as text; a clock's ids sort by time.
        """
        finished, others = self._split_by_finished()
        if self.initial_state in FINISHED_STATUSES:
            return sorted([*finished, *self._completed_among(others)])
        found = [name for name in others if self.package(name).status == self.initial_state]
        # On a disk an empty folder may be left of a package that was being deleted.
        return [name for name in found if self.initial_state != "new" or self.package(name).exists()]

    def list_pending_packages(self) -> Sequence[str]:
        """List the load ids of packages that are extracted or normalized and not finished, earliest first."""
        return [
            name for name in self._split_by_finished()[1] if self.package(name).status in _PENDING_STATUSES
        ]

    def newest_load_id(self) -> str | None:
        """The last id of all packages here, whatever their status."""
        return max((name for names in self._split_by_finished() for name in names), default=None)

    def list_unrecorded_packages(self) -> Sequence[str]:
        """Finished packages that nobody has tidied yet."""
        return self._completed_among(self._split_by_finished()[1])

    def list_new_jobs(self, load_id: str) -> Sequence[str]:
        """The paths of jobs that wait, relative to this storage."""
        return self._job_paths(load_id, layout.NEW_JOBS)

    def list_started_jobs(self, load_id: str) -> Sequence[str]:
        """The paths of jobs that were begun, relative to this storage."""
        return self._job_paths(load_id, layout.STARTED_JOBS)

    def list_failed_jobs(self, load_id: str) -> Sequence[str]:
        """The paths of jobs that failed, relative to this storage."""
        return self._job_paths(load_id, layout.FAILED_JOBS)

    def list_completed_jobs(self, load_id: str) -> Sequence[str]:
        """The paths of jobs that are done, relative to this storage."""
        return self._job_paths(load_id, layout.COMPLETED_JOBS)

    def list_all_jobs_with_states(self, load_id: str) -> Sequence[tuple[TJobState, ParsedLoadJobFileName]]:
        """Every job once, with the state that counts."""
        jobs = self.package(load_id).require_exists().jobs.list_jobs().jobs.values()
        return [(job.state, job.name) for job in jobs]

    def list_job_with_states_for_table(
        self, load_id: str, table_name: str
    ) -> Sequence[tuple[TJobState, ParsedLoadJobFileName]]:
        """Every job of one table."""
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
        # Gone from there and standing here: an earlier call was stopped after its move.
        if content is None and not package.store.exists(f"{job_state}/{name}"):
            raise UsageError(f"there is no job file at {job_file_path}", hint="write it before importing it")
        if content is not None:
            package.jobs.add(name, content, job_state)
            source.delete(name)

    def start_job(self, load_id: str, file_name: str) -> str:
        """From new to started. Gives the full address, which is what a destination is handed."""
        package = self.package(load_id)
        return package.store.path(package.jobs.start(file_name))

    def complete_job(self, load_id: str, file_name: str, result: Mapping[str, Any] | None = None) -> str:
        """From started to completed, with what the destination said; gives the full address."""
        package = self.package(load_id)
        return package.store.path(package.jobs.complete(file_name, result))

    def retry_job(
        self,
        load_id: str,
        file_name: str,
        failed_message: str | None = None,
        exception_type: str | None = None,
    ) -> str:
        """From started to new with one try more; gives the new file name."""
        return self.package(load_id).jobs.retry(file_name, failed_message, exception_type)

    def retry_failed_job(self, load_id: str, file_name: str) -> str:
        """From failed to new with one try more; gives the new file name."""
        return self.package(load_id).jobs.retry_failed(file_name)

    def fail_job(self, load_id: str, file_name: str, failed_message: str | None = None) -> str:
        """From started to failed, with the message beside it; gives the full address."""
        package = self.package(load_id)
        return package.store.path(package.jobs.fail(file_name, failed_message))

    def completed_results(self, load_id: str) -> dict[str, dict[str, Any]]:
        """What the destination said about each completed job, by job id."""
        jobs = self.package(load_id).jobs
        found = {
            job.name.job_id(): jobs.result(job.name) for job in jobs.list_jobs().in_state("completed_jobs")
        }
        return {job_id: result for job_id, result in found.items() if result is not None}

    def create_package(
        self, load_id: str, initial_state: TLoadPackageState | None = None, schema: Schema | None = None
    ) -> None:
        """Make a package with the status of this storage."""
        package = self.package(load_id)
        package.create(initial_state)
        if schema is not None:
            package.save_schema(dict(schema.to_dict()))
        if self.initial_state == "new":
            return
        package.mark_extracted({})
        if self.initial_state != "extracted":
            package.mark_normalized({})
        if self.initial_state in FINISHED_STATUSES:
            package.complete(self.initial_state)

    def complete_loading_package(self, load_id: str, load_state: TLoadPackageStatus) -> str:
        """Finish a package with a marker that says `load_state`; gives the package's path.

        Its data stays until `Packages.tidy` applies the retention.
        """
        return self.package(load_id).require_exists().complete(load_state, exist_ok=False)

    def record_finished(self, load_id: str) -> None:
        """Keep the finished apart, so that nobody looks into them to find those that are not."""
        self.storage.put(f"{_FINISHED_FOLDER}/{check_load_id(load_id)}", b"")

    def is_package_completed(self, load_id: str) -> bool:
        """Whether the last marker is there."""
        return self.package(load_id).final_status() is not None

    def remove_completed_jobs(self, load_id: str) -> None:
        """Delete completed jobs. If the package has failed jobs, nothing gets deleted."""
        self.package(load_id).require_exists().jobs.remove_completed()

    def delete_package(self, load_id: str, not_exists_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - dlt's signature
        """Delete a package with its data."""
        package = self.package(load_id)
        if not not_exists_ok:
            package.require_exists()
        package.delete()
        self.storage.delete(f"{_FINISHED_FOLDER}/{load_id}")

    def schema_name(self, load_id: str) -> str:
        """The name of the package's schema."""
        return cast("str", self.package(load_id).require_exists().schema()["name"])

    def load_schema(self, load_id: str) -> Schema:
        """The package's schema."""
        return read_schema(self.package(load_id).require_exists())

    def save_schema(self, load_id: str, schema: Schema) -> None:
        """Keep the package's schema."""
        self.package(load_id).require_exists().save_schema(dict(schema.to_dict()))

    def save_schema_updates(self, load_id: str, schema_update: Mapping[str, Any]) -> None:
        """Keep the tables that the destination must change for this package."""
        self.package(load_id).require_exists().save_schema_updates(schema_update)

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """All there is to know about a package: status, schema, jobs and their states."""
        return describe_package(self.package(load_id).require_exists())

    def get_load_package_jobs(self, load_id: str) -> Mapping[TJobState, Sequence[ParsedLoadJobFileName]]:
        """The names of all jobs by state."""
        found = self.package(load_id).require_exists().jobs.list_jobs()
        return {state: [job.name for job in found.in_state(state)] for state in layout.JOB_STATES}

    def get_job_failed_message(self, load_id: str, job: ParsedLoadJobFileName) -> str | None:
        """Why a job failed."""
        return self.package(load_id).jobs.failed_message(job)

    def cancel(self, load_id: str) -> None:
        """Tell everybody who works on the package to stop."""
        self.package(load_id).require_exists().cancel()

    def raise_if_cancelled(self, load_id: str) -> None:
        """Stop here if the package was cancelled."""
        self.package(load_id).raise_if_cancelled()

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """The package's own state."""
        return self.package(load_id).require_exists().state()

    def save_load_package_state(self, load_id: str, state: TLoadPackageState) -> None:
        """Write the package's own state."""
        self.package(load_id).require_exists().save_state(state)

    @staticmethod
    def is_package_partially_loaded(package_info: LoadPackageInfo) -> bool:
        """Whether a package that is not finished has jobs that are not new, or a finished one has both."""
        count = {state: len(jobs) for state, jobs in package_info.jobs.items()}
        if package_info.state in FINISHED_STATUSES:
            done = count.get("completed_jobs", 0)
            return 0 < done < sum(count.values())
        return sum(count.values()) > count.get("new_jobs", 0)

    @staticmethod
    def build_job_file_name(
        table_name: str, file_id: str, retry_count: int = 0, *, loader_file_format: str = "reference"
    ) -> str:
        """The name of a job file; one that could not be read back is refused."""
        name = ParsedLoadJobFileName(table_name, file_id, retry_count, loader_file_format).file_name()
        if "/" in name:
            raise InvalidJobFileName(file_name=name[:80], reason="there is a folder in it")
        return ParsedLoadJobFileName.parse(name).file_name()

    @staticmethod
    def filter_jobs_for_table(all_jobs: Iterable[LoadJobInfo], table_name: str) -> Sequence[LoadJobInfo]:
        """The jobs of one table."""
        return [job for job in all_jobs if job.job_file_info.table_name == table_name]

    def _split_by_finished(self) -> tuple[list[str], list[str]]:
        """The packages that are noted as finished, and the others: two listings."""
        noted = set(self.storage.names(_FINISHED_FOLDER))
        found = self.storage.entries("")
        names = [entry.name for entry in found if entry.is_folder and is_load_id(entry.name)]
        return [name for name in names if name in noted], [name for name in names if name not in noted]

    def _locate_file(self, path: str) -> tuple[FileStorage, str]:
        """Where a file stands, by this storage's connection if it is of the same kind, and its name there."""
        folder, _, name = path.replace("\\", "/").rpartition("/")
        here, there = (split_protocol(address)[0] for address in (self.storage.root, folder))
        return self.storage.with_root(folder or ".") if here == there else FileStorage(folder or "."), name

    def _completed_among(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.package(name).final_status() is not None]

    def _job_paths(self, load_id: str, state: TJobState) -> Sequence[str]:
        jobs = self.package(load_id).require_exists().jobs.list_jobs().in_state(state)
        return [f"{load_id}/{job.path}" for job in jobs]
