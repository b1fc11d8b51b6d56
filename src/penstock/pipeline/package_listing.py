"""The packages of a pipeline, pending and loaded, and their jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.package.extract_manifest import ExtractManifest
from penstock.package.lease import lease_status

if TYPE_CHECKING:
    from penstock.package import (
        LoadJobInfo,
        LoadPackageInfo,
        Package,
        Packages,
        PackageStorage,
        TJobState,
        TLoadPackageState,
        TLoadPackageStatus,
    )
    from penstock.package.lease import LeaseStatus


@dataclass(frozen=True, slots=True)
class PackageListing:
    """The packages of a pipeline: the unbound ones, and those of its dataset."""

    locations: tuple[Packages, ...]

    def extracted_ids(self) -> list[str]:
        """Return the ids of extracted packages, oldest first."""
        return self._ids_with_status("extracted")

    def normalized_ids(self) -> list[str]:
        """Return the ids of normalized packages, oldest first."""
        return self._ids_with_status("normalized")

    def completed_ids(self) -> list[str]:
        """Return the ids of loaded packages, oldest first, as far as they are retained."""
        finished = self._packages("loaded")
        return sorted(package.load_id for package in finished if package.status == "loaded")

    def pending_ids(self) -> list[str]:
        """Return the ids of extracted and normalized packages, oldest first."""
        return sorted([*self.extracted_ids(), *self.normalized_ids()])

    @property
    def has_pending(self) -> bool:
        """Whether a package is extracted or normalized, and not loaded."""
        return bool(self.extracted_ids() or self.normalized_ids())

    def lease_status(self) -> LeaseStatus | None:
        """Return who holds the lease; None if it is not held."""
        held = (lease_status(packages.store) for packages in self.locations)
        return next((status for status in held if status is not None), None)

    def extracted_files(self) -> list[str]:
        """Return the files with the rows of extracted packages."""
        return [
            package.store.path(f"{table.folder}/{name}")
            for package in self._packages("extracted")
            for table in ExtractManifest.from_dict(package.read_extracted()).tables
            for name in package.store.names(table.folder)
        ]

    def info(self, load_id: str) -> LoadPackageInfo:
        """Return a package, its jobs and their states."""
        return self._storage(load_id).get_load_package_info(load_id)

    def state(self, load_id: str) -> TLoadPackageState:
        """Return the state that a package stores for its destination and its source."""
        return self._storage(load_id).get_load_package_state(load_id)

    def failed_jobs(self, load_id: str) -> list[LoadJobInfo]:
        """Return the jobs of a package that failed, with messages; also those that will be retried."""
        all_jobs = [job for jobs in self.info(load_id).jobs.values() for job in jobs]
        return [job for job in all_jobs if job.state == "failed_jobs" or job.failed_message]

    def retried_jobs(self, load_id: str) -> list[tuple[str, TJobState]]:
        """Return the file names and states of jobs that were tried and are not completed."""
        return list(self._storage(load_id).list_retried_new_jobs(load_id))

    def _ids_with_status(self, status: TLoadPackageStatus) -> list[str]:
        return sorted(package.load_id for package in self._packages(status))

    def _packages(self, status: TLoadPackageStatus) -> list[Package]:
        return [package for packages in self.locations for package in packages.with_status(status)]

    def location_of(self, load_id: str) -> Packages:
        """Return the packages that contain one; if none has it, the last, which raise the error."""
        holders = (packages for packages in self.locations if packages.package(load_id).exists())
        return next(holders, self.locations[-1])

    def _storage(self, load_id: str) -> PackageStorage:
        return self.location_of(load_id).loaded_packages
