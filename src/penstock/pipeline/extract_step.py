"""Extracts what a run was given: a package for each flow, all of them marked or none.

With a commit interval there are more packages, each marked when it is full.
"""

from __future__ import annotations

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
    from collections.abc import Callable, Iterator, Sequence

    from penstock.extract.report import ExtractReport
    from penstock.extract.run import ExtractResult
    from penstock.extract.settings import ExtractConfiguration
    from penstock.extract.waves.executors import ExecutorBackend
    from penstock.interfaces import Flow
    from penstock.interfaces.frame_writer import RowSender
    from penstock.package import Package, Packages
    from penstock.package.lease import Lease
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.schema import NamingConvention, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractStep:
    """How the flows of one run are extracted, and where to."""

    packages: Packages
    snapshot_of: Callable[[str | None], PipelineSnapshot]
    """What the pipeline knows before a flow, by the name of its schema; None for the default one."""
    naming: Callable[[Schema], NamingConvention]
    settings: ExtractConfiguration
    lease: Lease
    """The right to extract; packages are marked with its epoch."""
    dispositions: frozenset[str] | None = None
    formats: frozenset[str] = frozenset()
    """Where there are some, a table that is merged must name the one that it is written in."""
    collector: Collector = field(default_factory=Collector)
    executors: ExecutorBackend | None = None
    """The way to the executors, for resources with work items; without it they run on the driver."""
    send: RowSender | None = None
    """Writes files where this machine cannot; None where it can."""

    def extract(
        self, flows: Sequence[Flow], on_report: Callable[[ExtractReport], None]
    ) -> Iterator[list[Package]]:
        """Packages as they become ready: those that brought rows or changed the state.

        `tell` hears what every package came to. Without a commit interval none is ready before all are.
        """
        if not flows:
            return
        made: list[tuple[Package, ExtractResult]] = []
        # What one flow remembers is there for the next.
        known = self.snapshot_of(None)
        state: dict[str, Any] = deepcopy(known.state)
        refreshes = RefreshTracker()
        for flow, left in zip(flows, self._resumable_packages(flows), strict=True):
            for package, done in self._extract_flow(flow, state, left, refreshes):
                on_report(done.report)
                if not done.has_changes:
                    package.delete()
                elif self.settings.commit_interval is None:
                    made.append((package, done))
                else:
                    yield self._mark_extracted([(package, done)], known.change_id)
        yield self._mark_extracted(made, known.change_id)

    def _resumable_packages(self, flows: Sequence[Flow]) -> list[Package | None]:
        """For each flow a package with waves of work items that a run before has left; others are deleted."""
        if self.executors is None or not flows:
            return [None for _ in flows]
        last = self.packages.last_sealed()
        left = self.packages.with_status("new")
        # Loads are told by the moments in their ids: none may follow one that is younger.
        late = [package for package in left if last is None or package.load_id > last.load_id]
        ships = self.settings.work_items == "executors"
        found = resumable_packages(flows, late, on_executors=ships)
        unused = [package for package in left if package not in found]
        if unused:
            # A run that took over may continue one of them.
            self.lease.confirm()
        for package in unused:
            package.delete()
        return found

    def _extract_flow(
        self, flow: Flow, state: dict[str, Any], resumable: Package | None, refresh_tracker: RefreshTracker
    ) -> Iterator[tuple[Package, ExtractResult]]:
        before = self.snapshot_of(flow.name)
        refresh = refresh_tracker.refresh_for(flow, before.schema.name)
        if refresh is not None:
            reset_refreshed(state, before.schema.name, refresh)
        with Extractor(
            flow,
            schema_name=before.schema.name,
            naming=self.naming(before.schema),
            state=state,
            dispositions=self.dispositions,
            table_formats=self.formats,
            schema_tables=without_dropped_tables(before.schema, refresh).tables,
            boundary_store=self.packages.store,
            executors=self.executors,
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
                with (
                    self.collector(f"extract of {before.schema.name}"),
                    in_stage("extract", load_id=package.load_id),
                    package_context(package),
                ):
                    done = extractor.extract_into(package)
                yield package, done

    def _mark_extracted(
        self, extractions: list[tuple[Package, ExtractResult]], change_id: str | None
    ) -> list[Package]:
        self.lease.check()
        for package, done in extractions:
            document = replace(done.extracted, change_id=change_id).to_dict()
            package.mark_extracted(document, epoch=self.lease.epoch)
        if extractions:
            # A marker that came after another run had begun does not count.
            self.lease.confirm()
        return [package for package, _ in extractions]
