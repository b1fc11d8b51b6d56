"""Extraction of the data of one run: a package for each flow, all of them marked or none.

With a commit interval a flow has more packages, each marked when it is complete.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import in_stage
from penstock.extract.run import Extractor
from penstock.extract.source_state import reset_refreshed
from penstock.extract.waves.checkpoints import resumable_packages
from penstock.interfaces.progress import Collector
from penstock.package import package_context
from penstock.pipeline.refresh import RefreshTracker, without_dropped_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from penstock.extract.report import ExtractReport
    from penstock.extract.run import ExtractResult
    from penstock.extract.settings import ExtractConfiguration
    from penstock.extract.waves.executors import ExecutorBackend
    from penstock.interfaces import Flow
    from penstock.interfaces.frame_engine import FrameEngine, RowSender
    from penstock.package import Package, Packages
    from penstock.package.lease import Lease
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.schema import NamingConvention, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The extract step of one run."""

    packages: Packages
    lease: Lease
    """Packages are marked with its epoch."""
    snapshot_of: Callable[[str | None], PipelineSnapshot]
    """Schema and state before a flow, by the name of its schema; None for the default one."""
    naming: Callable[[Schema], NamingConvention]
    settings: ExtractConfiguration
    on_report: Callable[[ExtractReport], None]
    """Called with the report of each package."""
    incomplete: Sequence[Package] = ()
    """Packages with waves of work items, of runs that did not complete their extraction."""
    step: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while the extraction works, and not while its caller works between two packages."""
    dispositions: frozenset[str] | None = None
    table_formats: frozenset[str] = frozenset()
    """If not empty, a merged table must name one of these formats."""
    collector: Collector = field(default_factory=Collector)
    executors: ExecutorBackend | None = None
    """Runs resources with work items on executors; None: they run on the driver."""
    frame_engine: FrameEngine | None = None
    """Writes and filters DataFrames of Spark."""
    send: RowSender | None = None
    """Writes files by a Spark session; None: this machine writes them."""

    is_planned: bool = False
    """Whether only `apply` loads the packages."""

    def extract(self, flows: Sequence[Flow]) -> Generator[Package]:
        """Yield the packages that have rows or a changed state, each when it is marked as extracted.

        With a commit interval the caller can load a package before the next one is extracted. Without, none
        is marked before all are complete.
        """
        batches = self._marked_batches(flows)
        while True:
            with self.step():
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch

    def _marked_batches(self, flows: Sequence[Flow]) -> Iterator[list[Package]]:
        if not flows:
            return
        snapshot = self.snapshot_of(None)
        # Changes that one flow makes to the state are visible to the next.
        state: dict[str, Any] = deepcopy(snapshot.state)
        refreshes = RefreshTracker()
        complete: list[tuple[Package, ExtractResult]] = []
        for flow, resumable in zip(flows, self._resumable_packages(flows), strict=True):
            for package, result in self._extract_flow(flow, state, resumable, refreshes):
                self.on_report(result.report)
                if not result.has_changes:
                    package.delete()
                elif self.settings.commit_interval is None:
                    complete.append((package, result))
                else:
                    yield self._mark_extracted([(package, result)], snapshot.change_id)
        yield self._mark_extracted(complete, snapshot.change_id)

    def _resumable_packages(self, flows: Sequence[Flow]) -> list[Package | None]:
        """Return for each flow its incomplete package; delete all others."""
        if not self.incomplete:
            return [None for _ in flows]
        last_sealed = self.packages.last_sealed()
        # Loads are ordered by the times in their ids: none may follow a later one.
        newer = [
            package
            for package in self.incomplete
            if last_sealed is None or package.load_id > last_sealed.load_id
        ]
        on_executors = self.settings.work_items == "executors"
        resumable = resumable_packages(flows, newer, on_executors=on_executors)
        unused = [package for package in self.incomplete if package not in resumable]
        if unused:
            # A run that took over may continue one of them.
            self.lease.confirm()
        for package in unused:
            package.delete()
        return resumable

    def _extract_flow(
        self, flow: Flow, state: dict[str, Any], resumable: Package | None, refreshes: RefreshTracker
    ) -> Iterator[tuple[Package, ExtractResult]]:
        schema = self.snapshot_of(flow.name).schema
        refresh = refreshes.refresh_for(flow, schema.name)
        if refresh is not None:
            reset_refreshed(state, schema.name, refresh)
        with Extractor(
            flow,
            schema_name=schema.name,
            naming=self.naming(schema),
            state=state,
            dispositions=self.dispositions,
            table_formats=self.table_formats,
            schema_tables=without_dropped_tables(schema, refresh).tables,
            boundary_store=self.packages.store,
            executors=self.executors,
            frame_engine=self.frame_engine,
            workload=self.settings.workload,
            commit_interval=self.settings.commit_interval,
            collector=self.collector,
            send=self.send,
            refresh=refresh,
        ) as extractor:
            while not extractor.is_done:
                package = resumable or self.packages.new_package()
                resumable = None
                package.create()
                if self.is_planned:
                    package.mark_planned()
                with (
                    self.collector(f"extract of {schema.name}"),
                    in_stage("extract", load_id=package.load_id),
                    package_context(package),
                ):
                    result = extractor.extract_into(package)
                yield package, result

    def _mark_extracted(
        self, complete: list[tuple[Package, ExtractResult]], change_id: str | None
    ) -> list[Package]:
        self.lease.check()
        for package, result in complete:
            document = replace(result.extracted, change_id=change_id).to_dict()
            package.mark_extracted(document, epoch=self.lease.epoch)
        if complete:
            # A marker that is written after another run has begun does not count.
            self.lease.confirm()
        return [package for package, _ in complete]
