"""Jobs of a pending load that a user fails or tries again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import LoadPackageAlreadyCompleted, UsageError
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.job_folders import is_retry_message

if TYPE_CHECKING:
    from penstock.package import Package, Packages
    from penstock.package.lease import LeaseTimes


def fail_pending_job(
    packages: Packages, load_id: str, file_name: str, *, pipeline_name: str, lease_times: LeaseTimes
) -> str:
    """Move a job that waits for another try to the failed ones; return its address.

    The next load leaves out its chain of tables, and undoes what its tries may have written.
    """
    with packages.lease(pipeline=pipeline_name, times=lease_times):
        package = _pending_package(packages, load_id)
        if ExtractManifest.from_dict(package.read_extracted()).replay is not None:
            raise UsageError(
                f"package {load_id} replays rows of the quarantine, which needs all of its jobs",
                hint="correct the cause and call load(), or drop the package with abort_packages()",
                load_id=load_id,
            )
        if packages.normalized_packages.get_load_package_info(load_id).refresh is not None:
            raise UsageError(
                f"package {load_id} refreshes tables, which needs all of its jobs",
                hint="correct the cause and call load(), or drop the package with abort_packages()",
                load_id=load_id,
            )
        return packages.normalized_packages.fail_retried_job(load_id, file_name)


def retry_failed_job(
    packages: Packages, load_id: str, file_name: str, *, pipeline_name: str, lease_times: LeaseTimes
) -> str:
    """Move a job that a user has failed back to the new ones, with one more try; return its address.

    A job that a load has left out is refused: the rows of its chain are rolled back already.
    """
    with packages.lease(pipeline=pipeline_name, times=lease_times):
        package = _pending_package(packages, load_id)
        if not is_retry_message(package.jobs.failed_message(ParsedLoadJobFileName.parse(file_name))):
            raise UsageError(
                f"{file_name} cannot be tried again: its load has left it out, with its chain of tables",
                hint="complete the load with load(), or drop it with abort_packages() and extract again",
                load_id=load_id,
            )
        new_name = packages.normalized_packages.retry_failed_job(load_id, file_name)
        return package.store.path(f"new_jobs/{new_name}")


def _pending_package(packages: Packages, load_id: str) -> Package:
    package = packages.package(load_id).require_exists()
    if package.final_status() is not None:
        raise LoadPackageAlreadyCompleted(load_id=load_id)
    return package
