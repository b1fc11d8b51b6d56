"""Packages that were extracted before the destination was known; a later run transfers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.config import read_settings, resolve_configuration
from penstock.extract.cursor.boundary_files import remove_unreferenced_files
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.packages import transfer_package
from penstock.package.typed_json import from_typed
from penstock.pipeline.boundaries import copy_boundaries
from penstock.pipeline.extraction import Extraction
from penstock.pipeline.restore import PipelineSnapshot, local_snapshot, snapshot_after_pending
from penstock.pipeline.settings import RunConfiguration
from penstock.pipeline.state import state_after_package, with_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow, Ledger
    from penstock.package.lease import Lease, LeaseTimes
    from penstock.pipeline.context import PipelineContext
    from penstock.pipeline.recorder import Recorder


@dataclass(frozen=True, slots=True)
class UnboundPackages:
    """The packages of a pipeline without a destination. Neither Spark nor Java is needed for them."""

    pipeline: PipelineContext
    storage: str | None = None
    """The setting `extract.package_storage`; None for the working folder."""

    @property
    def location(self) -> str:
        """The folder of the packages, which need not exist."""
        if self.storage is not None:
            return f"{self.storage.rstrip('/')}/{self.pipeline.pipeline_name}"
        return str(self.pipeline.workdir.extracted_folder)

    @property
    def packages(self) -> Packages:
        """The packages in this folder."""
        return Packages.at(self.location)

    @property
    def lease_times(self) -> LeaseTimes:
        """The heartbeat and expiry of their lease."""
        settings = self.pipeline.runtime or resolve_configuration(
            RunConfiguration,
            settings=read_settings(),
            sections=("run",),
            pipeline_name=self.pipeline.pipeline_name,
        )
        return settings.lease_times

    def extract(
        self, flows: Sequence[Flow], *, settings: ExtractConfiguration, recorder: Recorder
    ) -> ExtractInfo:
        """Extract flows into packages that stay here until the destination is known."""
        packages, pipeline = self.packages, self.pipeline
        recorder.package_location = self.location
        recorder.record_start()
        with (
            packages.lease(pipeline=pipeline.pipeline_name, times=self.lease_times) as lease,
            recorder.step("extract"),
        ):
            recorder.has_begun_work = True
            for package in packages.with_status("new"):
                package.delete()
            extraction = Extraction(
                packages=packages,
                lease=lease,
                snapshot_of=self.snapshot_after_pending,
                naming=lambda schema: schema.naming,
                settings=settings,
                on_report=recorder.record_extracted,
                collector=pipeline.collector,
                frame_engine=pipeline.frame_engine,
            )
            load_ids = [package.load_id for package in extraction.extract(flows)]
        return recorder.extract_info(load_ids)

    def transfer_to(self, packages: Packages, *, lease: Lease, ledger: Ledger) -> list[str]:
        """Move the extracted packages to those of a destination, under their lease; return the load ids.

        A package that is already complete at the destination is only deleted: a process may have died
        between the copy and the deletion of the original, and another one has loaded the copy.
        """
        unbound = self.packages
        if not unbound.with_status("extracted"):
            return []
        transferred: list[str] = []
        with unbound.lease(pipeline=self.pipeline.pipeline_name, times=self.lease_times):
            # The files of their cursors first: a package can be loaded as soon as it is transferred.
            copy_boundaries(unbound, packages)
            existing_ids = packages.known_ids()
            for package in unbound.with_status("extracted"):
                load_id = package.load_id
                schema_name = ExtractManifest.from_dict(package.read_extracted()).schema_name
                if ledger.find_commit(schema_name=schema_name, load_id=load_id) is not None:
                    lease.notes.append(
                        f"package {load_id} was pending on this machine although it is loaded: it is deleted"
                    )
                    package.delete()
                    continue
                transfer_package(
                    package, packages.package(load_id), lease=lease, is_transferred=load_id in existing_ids
                )
                transferred.append(load_id)
            remove_unreferenced_files(unbound.store, [])
        return transferred

    @property
    def is_local(self) -> bool:
        """Whether the packages are in the working folder, and not where other machines may see them."""
        return self.storage is None

    def state_version(self) -> int:
        """Return the version that the state of this machine has after these packages."""
        pipeline = self.pipeline
        state = {**local_snapshot(pipeline).state, **(pipeline.workdir.state() or {})}
        for package in self.packages.with_status("extracted"):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            state = with_version(from_typed(state_after_package(state, extracted)))
        return int(state["_state_version"])

    def drop_local(self) -> list[str]:
        """Delete all packages if they are in the working folder; return their ids."""
        load_ids = [package.load_id for package in self.packages.unsealed_packages()] if self.is_local else []
        if load_ids:
            self.drop()
        return load_ids

    def drop(self, from_load_id: str = "") -> None:
        """Delete all packages, or those from an id on."""
        packages = self.packages
        if packages.unsealed_packages():
            with packages.lease(pipeline=self.pipeline.pipeline_name, times=self.lease_times):
                packages.drop_unsealed(from_load_id)

    def snapshot_after_pending(self, schema_name: str | None) -> PipelineSnapshot:
        """Return schema and state as they will be once these packages are loaded."""
        snapshot = local_snapshot(self.pipeline, schema_name=schema_name)
        schema = self.pipeline.schema_files.with_imported_changes(snapshot.schema)
        return snapshot_after_pending(replace(snapshot, schema=schema), self.packages)
