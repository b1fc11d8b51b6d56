"""Packages that were extracted before anybody knew the destination: they wait, and are carried there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.extract.cursor.boundary_files import remove_unreferenced_files
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.packages import transfer_package
from penstock.pipeline.boundaries import copy_boundaries
from penstock.pipeline.extract_step import ExtractStep
from penstock.pipeline.home import PipelineContext
from penstock.pipeline.restore import PipelineSnapshot, local_snapshot, snapshot_after_pending
from penstock.pipeline.schemafiles import SchemaFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow, Ledger
    from penstock.interfaces.progress import Collector
    from penstock.package.lease import Lease, LeaseTimes
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundPackages:
    """The packages of a pipeline without a destination, in its working folder or where the settings say."""

    pipeline_name: str
    workdir: WorkDir
    storage: str | None = None
    schema_files: SchemaFiles = field(default_factory=SchemaFiles)

    @property
    def location(self) -> str:
        """The folder, there or not."""
        if self.storage is not None:
            return f"{self.storage.rstrip('/')}/{self.pipeline_name}"
        return str(self.workdir.path / "extracted")

    def extract(
        self,
        flows: Sequence[Flow],
        *,
        dataset_name: str,
        settings: ExtractConfiguration,
        lease_times: LeaseTimes,
        collector: Collector,
        recorder: Recorder,
    ) -> ExtractInfo:
        """Extract flows into packages that wait. Nothing but this machine is needed: no Spark, no Java."""
        packages = Packages.at(self.location)
        recorder.package_location = self.location
        recorder.record_start()
        with (
            packages.lease(pipeline=self.pipeline_name, times=lease_times) as lease,
            recorder.step("extract"),
        ):
            recorder.has_begun_work = True
            extracting = ExtractStep(
                packages=packages,
                snapshot_of=lambda name: snapshot_after_pending(self.snapshot(name, dataset_name), packages),
                naming=lambda schema: schema.naming,
                settings=settings,
                lease=lease,
                collector=collector,
            )
            for package in packages.with_status("new"):
                package.delete()
            made = extracting.extract(flows, recorder.record_extracted)
            ready = [package.load_id for packages in made for package in packages]
        return recorder.extract_info(ready)

    def transfer_to(
        self, packages: Packages, *, lease: Lease, ledger: Ledger, lease_times: LeaseTimes
    ) -> list[str]:
        """Carry what waits to the packages of a destination, under the lease of those; return the ids.

        A package that is complete at the destination already is deleted here: a machine may have died
        between the copy and the deletion of the original, and another one has loaded the copy.
        """
        waiting = Packages.at(self.location)
        if not waiting.with_status("extracted"):
            return []
        carried: list[str] = []
        with waiting.lease(pipeline=self.pipeline_name, times=lease_times):
            # The files of their cursors first: a package that has arrived may be loaded at once.
            copy_boundaries(waiting, packages)
            there = packages.known_ids()
            for package in waiting.with_status("extracted"):
                load_id, schema_name = (
                    package.load_id,
                    ExtractManifest.from_dict(package.read_extracted()).schema_name,
                )
                if ledger.find_commit(schema_name=schema_name, load_id=load_id) is not None:
                    lease.notes.append(
                        f"package {load_id} waited on this machine although it is loaded: it is deleted here"
                    )
                    package.delete()
                    continue
                transfer_package(
                    package, packages.package(load_id), lease=lease, is_transferred=load_id in there
                )
                carried.append(load_id)
            remove_unreferenced_files(waiting.store, [])
        return carried

    def drop(self, *, lease_times: LeaseTimes) -> None:
        """Delete what waits."""
        packages = Packages.at(self.location)
        if packages.unsealed_packages():
            with packages.lease(pipeline=self.pipeline_name, times=lease_times):
                packages.drop_unsealed()

    def snapshot_after_pending(self, schema_name: str | None, dataset_name: str) -> PipelineSnapshot:
        """The same with what waits here."""
        return snapshot_after_pending(self.snapshot(schema_name, dataset_name), Packages.at(self.location))

    def snapshot(self, schema_name: str | None, dataset_name: str) -> PipelineSnapshot:
        """What this machine remembers of the last load to a dataset."""
        home = PipelineContext(
            pipeline_name=self.pipeline_name, dataset_name=dataset_name, workdir=self.workdir
        )
        found = local_snapshot(home, schema_name=schema_name)
        return replace(found, schema=self.schema_files.with_imported_changes(found.schema))
