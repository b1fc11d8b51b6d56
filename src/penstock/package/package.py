"""A package is a folder that never moves; its status is the furthest marker found in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from penstock.package.job import JobFile, parse_job
from penstock.package.manifest import Manifest
from penstock.package.store import Store, as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_VERSION = 1
NEW_JOBS, COMPLETED_JOBS = "new_jobs", "completed_jobs"
_EXTRACTED, _SCHEMA, _COMPLETED = "extracted.json", "schema.json", "package_completed.json"
_SLOTS, _PACKAGES = "slots", "packages"


class PackageStatus(StrEnum):
    """How far a package has come."""

    NEW = "new"
    EXTRACTED = "extracted"
    LOADED = "loaded"


@dataclass(frozen=True, slots=True)
class Package:
    """One load's folder."""

    store: Store
    load_id: str

    @property
    def path(self) -> str:
        """The address of the folder."""
        return self.store.path()

    @property
    def status(self) -> PackageStatus:
        """The furthest marker that is there."""
        if self.store.exists(_COMPLETED):
            return PackageStatus.LOADED
        return PackageStatus.EXTRACTED if self.store.exists(_EXTRACTED) else PackageStatus.NEW

    def mark_extracted(self, document: Mapping[str, Any]) -> None:
        """All rows are in; from here on the package will not be extracted again."""
        self.store.put(_EXTRACTED, as_json({"format_version": FORMAT_VERSION, **document}))

    def extracted(self) -> dict[str, Any]:
        """What the extract stage left for the next one."""
        document: dict[str, Any] | None = self.store.read_json(_EXTRACTED)
        return document or {}

    def save_schema(self, document: Mapping[str, Any]) -> None:
        """The schema of this package, for people who look at it; the sealed one is in the slot."""
        self.store.put(_SCHEMA, as_json(document))

    def add_job(self, job: JobFile) -> None:
        """Put a job file among the new ones."""
        self.store.put(f"{NEW_JOBS}/{job.name.file_name()}", as_json(job.to_dict()))

    def job(self, file_name: str) -> JobFile:
        """Open a job file, done or not."""
        done = f"{COMPLETED_JOBS}/{file_name}"
        return parse_job(self.store, done if self.store.exists(done) else f"{NEW_JOBS}/{file_name}")

    def complete_job(self, file_name: str) -> None:
        """Move a job to the completed ones: the copy first, so a half-done move shows as done."""
        content = self.store.read(f"{NEW_JOBS}/{file_name}")
        if content is not None:
            self.store.put(f"{COMPLETED_JOBS}/{file_name}", content)
            self.store.delete(f"{NEW_JOBS}/{file_name}")

    def complete(self) -> None:
        """The load is committed: mark it, and let its data go."""
        self.store.put(_COMPLETED, b"loaded")
        self.store.delete("data")


@dataclass(frozen=True, slots=True)
class Packages:
    """All packages of one pipeline in one dataset, and the slots that put sealed ones in order."""

    store: Store

    @staticmethod
    def at(root: str) -> Packages:
        """The packages below an address."""
        return Packages(Store(root))

    def package(self, load_id: str) -> Package:
        """The package with that id, there or not yet."""
        return Package(Store(self.store.path(f"{_PACKAGES}/{load_id}")), load_id)

    def with_status(self, status: PackageStatus) -> list[Package]:
        """Packages that have come exactly so far, oldest first."""
        packages = [self.package(name) for name in self.store.names(_PACKAGES)]
        return [package for package in packages if package.status is status]

    def last_sealed(self) -> Manifest | None:
        """The manifest in the highest slot, committed or not."""
        slots = self.store.names(_SLOTS)
        document = self.store.read_json(f"{_SLOTS}/{slots[-1]}") if slots else None
        return Manifest.from_dict(document) if document is not None else None

    def seal(self, manifest: Manifest) -> bool:
        """Take the slot of the manifest's sequence. False when another run has taken it."""
        return self.store.put_if_absent(f"{_SLOTS}/{manifest.sequence:010d}.json", manifest.to_json())
