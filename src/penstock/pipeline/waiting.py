"""Packages that were extracted before anybody knew the destination: they wait, and are carried there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.extract.cursor.files import remove_unnamed
from penstock.package import Packages
from penstock.package.carry import carry
from penstock.package.lease import held
from penstock.pipeline.boundaries import carry_boundaries
from penstock.pipeline.extracting import Extracting
from penstock.pipeline.home import Home
from penstock.pipeline.restore import Known, after_pending, remembered
from penstock.pipeline.schemafiles import SchemaFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.interfaces.progress import Collector
    from penstock.package.holder import LeaseTimes
    from penstock.pipeline.recording import Recorder
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRoom:
    """The packages of a pipeline without a destination, in its working folder or where the settings say."""

    pipeline_name: str
    workdir: WorkDir
    storage: str | None = None
    files: SchemaFiles = field(default_factory=SchemaFiles)

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
        times: LeaseTimes,
        collector: Collector,
        recorder: Recorder,
    ) -> ExtractInfo:
        """Extract flows into packages that wait. Nothing but this machine is needed: no Spark, no Java."""
        packages = Packages.at(self.location)
        recorder.is_tried, recorder.packages_at = True, self.location
        with (
            held(packages.store, pipeline=self.pipeline_name, times=times) as lease,
            recorder.step("extract"),
        ):
            recorder.is_begun = True
            extracting = Extracting(
                packages=packages,
                known=lambda name: after_pending(self.known(name, dataset_name), packages),
                naming=lambda schema: schema.naming,
                settings=settings,
                check=lease.check,
                collector=collector,
            )
            for package in packages.with_status("new"):
                package.delete()
            made = extracting.extract(flows, recorder.hear_extracted)
            ready = [package.load_id for packages in made for package in packages]
        return recorder.extract_info(ready)

    def carry_to(self, packages: Packages, *, times: LeaseTimes) -> list[str]:
        """Carry what waits to the packages of a destination; gives the ids."""
        waiting = Packages.at(self.location)
        ready = waiting.with_status("extracted")
        if not ready:
            return []
        with held(waiting.store, pipeline=self.pipeline_name, times=times):
            # The files of their cursors first: a package that has arrived may be loaded at once.
            carry_boundaries(waiting, packages)
            for package in ready:
                carry(package, packages.package(package.load_id))
            remove_unnamed(waiting.store, [])
        return [package.load_id for package in ready]

    def drop(self, *, times: LeaseTimes) -> None:
        """Delete what waits."""
        packages = Packages.at(self.location)
        if packages.unsealed():
            with held(packages.store, pipeline=self.pipeline_name, times=times):
                packages.drop_unsealed()

    def known_later(self, schema_name: str | None, dataset_name: str) -> Known:
        """The same with what waits here."""
        return after_pending(self.known(schema_name, dataset_name), Packages.at(self.location))

    def known(self, schema_name: str | None, dataset_name: str) -> Known:
        """What this machine remembers of the last load to a dataset."""
        home = Home(pipeline_name=self.pipeline_name, dataset_name=dataset_name, workdir=self.workdir)
        found = remembered(home, schema_name=schema_name)
        return replace(found, schema=self.files.taken(found.schema))
