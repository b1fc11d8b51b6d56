"""Which pending packages an abort drops, and the jobs of the load that it rolls back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from penstock.package.job_folders import is_retry_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.package import LoadJobInfo, LoadPackageInfo


class TPackageAbort(TypedDict):
    """The load that is aborted, with the file names of its jobs."""

    load_id: str
    terminal_jobs: list[str]
    """Jobs that failed for good."""
    transient_jobs: list[str]
    """Jobs that wait for another try."""
    interrupted_jobs: list[str]
    """Jobs that were started and did not end."""
    committed_jobs: list[str]
    """Jobs whose rows are rolled back."""


class TAbortPlan(TypedDict):
    """The effect of `Pipeline.abort_packages`."""

    package_to_abort: TPackageAbort | None
    """The load that has a number; None if none has."""
    packages_to_delete: list[str]
    """Other normalized packages."""
    extracted_packages_to_delete: list[str]
    restore_from_load_id: str
    """The oldest of these packages: state and schemas are then those before it."""


def packages_from(pending: Sequence[LoadPackageInfo], load_id: str | None) -> list[LoadPackageInfo]:
    """Return the pending packages from an id on, oldest first; all without an id."""
    ordered = sorted(pending, key=lambda package: package.load_id)
    return [package for package in ordered if load_id is None or package.load_id >= load_id]


def plan_abort(packages: Sequence[LoadPackageInfo]) -> TAbortPlan | None:
    """Return the effect of dropping these packages, oldest first; None if there are none."""
    if not packages:
        return None
    sealed = next((package for package in packages if package.sequence is not None), None)
    others = [package for package in packages if package is not sealed]
    return TAbortPlan(
        package_to_abort=None if sealed is None else _package_abort(sealed),
        packages_to_delete=[package.load_id for package in others if package.state == "normalized"],
        extracted_packages_to_delete=[package.load_id for package in others if package.state == "extracted"],
        restore_from_load_id=packages[0].load_id,
    )


def _package_abort(package: LoadPackageInfo) -> TPackageAbort:
    retried = [job for job in package.jobs.get("new_jobs", ()) if job.job_file_info.retry_count]
    terminal = [job for job in retried if is_retry_message(job.failed_message, kind="terminal")]
    return TPackageAbort(
        load_id=package.load_id,
        terminal_jobs=_file_names([*package.jobs.get("failed_jobs", ()), *terminal]),
        transient_jobs=_file_names([job for job in retried if job not in terminal]),
        interrupted_jobs=_file_names(package.jobs.get("started_jobs", ())),
        committed_jobs=_file_names(package.jobs.get("completed_jobs", ())),
    )


def _file_names(jobs: Sequence[LoadJobInfo]) -> list[str]:
    return [job.job_file_info.file_name() for job in jobs]
