"""What a pipeline tells of its packages: those that wait, those that are complete, and their jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.package.extract_manifest import ExtractManifest

if TYPE_CHECKING:
    from penstock.package import (
        LoadJobInfo,
        LoadPackageInfo,
        Package,
        Packages,
        PackageStorage,
        TLoadPackageState,
        TLoadPackageStatus,
    )


@dataclass(frozen=True, slots=True)
class PackageListing:
    """The packages of a pipeline: those on this machine that wait to be carried, and those of its dataset."""

    locations: tuple[Packages, ...]

    def extracted_ids(self) -> list[str]:
        """The ids of packages that are or will be normalized, oldest first."""
        return self._ids_with_status("extracted")

    def normalized_ids(self) -> list[str]:
        """The ids of packages that are or will be loaded, oldest first."""
        return self._ids_with_status("normalized")

    def completed_ids(self) -> list[str]:
        """The ids of packages that are loaded completely, oldest first; only so many are kept."""
        finished = self._packages("loaded")
        return sorted(package.load_id for package in finished if package.status == "loaded")

    @property
    def has_pending(self) -> bool:
        """Whether a package waits to be normalized or loaded."""
        return bool(self.extracted_ids() or self.normalized_ids())

    def extracted_folders(self) -> list[str]:
        """Where the rows of packages stand that will be normalized."""
        return [
            package.store.path(table.folder)
            for package in self._packages("extracted")
            for table in ExtractManifest.from_dict(package.read_extracted()).tables
        ]

    def info(self, load_id: str) -> LoadPackageInfo:
        """A package, its jobs and their states."""
        return self._storage(load_id).get_load_package_info(load_id)

    def state(self, load_id: str) -> TLoadPackageState:
        """What a package remembers for its destination and its source."""
        return self._storage(load_id).get_load_package_state(load_id)

    def failed_jobs(self, load_id: str) -> list[LoadJobInfo]:
        """The jobs of a package that failed, those that wait to be tried again too, with their messages."""
        every = [job for jobs in self.info(load_id).jobs.values() for job in jobs]
        return [job for job in every if job.state == "failed_jobs" or job.failed_message]

    def _ids_with_status(self, status: TLoadPackageStatus) -> list[str]:
        return sorted(package.load_id for package in self._packages(status))

    def _packages(self, status: TLoadPackageStatus) -> list[Package]:
        return [package for place in self.locations for package in place.with_status(status)]

    def _storage(self, load_id: str) -> PackageStorage:
        """The place that has a package; the last one says that it has it not."""
        found = (place for place in self.locations if place.package(load_id).exists())
        return next(found, self.locations[-1]).loaded_packages
