"""Extracts what a run was given: a package for each flow, all of them marked or none.

With a commit interval there are more packages, each marked when it is full.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import in_stage
from penstock.extract.memory import forget_refreshed
from penstock.extract.run import Extractor
from penstock.extract.waves.resume import to_continue
from penstock.interfaces.progress import Collector
from penstock.package import package_context
from penstock.pipeline.refreshing import Refreshes, without_dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.extract.report import ExtractReport
    from penstock.extract.run import Extraction
    from penstock.extract.settings import ExtractConfiguration
    from penstock.extract.waves.elsewhere import Elsewhere
    from penstock.interfaces import Flow
    from penstock.interfaces.landing import Sender
    from penstock.package import Package, Packages
    from penstock.package.lease import Lease
    from penstock.pipeline.restore import Known
    from penstock.schema import NamingConvention, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracting:
    """How the flows of one run are extracted, and where to."""

    packages: Packages
    known: Callable[[str | None], Known]
    """What the pipeline knows before a flow, by the name of its schema; None for the default one."""
    naming: Callable[[Schema], NamingConvention]
    settings: ExtractConfiguration
    lease: Lease
    """The right to extract; packages are marked with its epoch."""
    dispositions: frozenset[str] | None = None
    formats: frozenset[str] = frozenset()
    """Where there are some, a table that is merged must name the one that it is written in."""
    collector: Collector = field(default_factory=Collector)
    elsewhere: Elsewhere | None = None
    """The way to the executors, for resources with work items; without it they run on the driver."""
    send: Sender | None = None
    """Writes files where this machine cannot; None where it can."""

    def extract(
        self, flows: Sequence[Flow], tell: Callable[[ExtractReport], None]
    ) -> Iterator[list[Package]]:
        """Packages as they become ready: those that brought rows or changed the state.

        `tell` hears what every package came to. Without a commit interval none is ready before all are.
        """
        if not flows:
            return
        made: list[tuple[Package, Extraction]] = []
        # What one flow remembers is there for the next.
        known = self.known(None)
        state: dict[str, Any] = deepcopy(known.state)
        refreshes = Refreshes()
        for flow, left in zip(flows, self._left(flows), strict=True):
            for package, done in self._filled(flow, state, left, refreshes):
                tell(done.info)
                if not done.brings_something:
                    package.delete()
                elif self.settings.commit_interval is None:
                    made.append((package, done))
                else:
                    yield self._marked([(package, done)], known.change)
        yield self._marked(made, known.change)

    def _left(self, flows: Sequence[Flow]) -> list[Package | None]:
        """For each flow a package with waves of work items that a run before has left; others are deleted."""
        if self.elsewhere is None or not flows:
            return [None for _ in flows]
        last = self.packages.last_sealed()
        left = self.packages.with_status("new")
        # Loads are told by the moments in their ids: none may follow one that is younger.
        late = [package for package in left if last is None or package.load_id > last.load_id]
        ships = self.settings.work_items == "executors"
        found = to_continue(flows, late, ships=ships)
        unused = [package for package in left if package not in found]
        if unused:
            # A run that took over may continue one of them.
            self.lease.confirm()
        for package in unused:
            package.delete()
        return found

    def _filled(
        self, flow: Flow, state: dict[str, Any], left: Package | None, refreshes: Refreshes
    ) -> Iterator[tuple[Package, Extraction]]:
        before = self.known(flow.name)
        refresh = refreshes.of(flow, before.schema.name)
        if refresh is not None:
            forget_refreshed(state, before.schema.name, refresh)
        with Extractor(
            flow,
            schema_name=before.schema.name,
            naming=self.naming(before.schema),
            state=state,
            dispositions=self.dispositions,
            formats=self.formats,
            known=without_dropped(before.schema, refresh).tables,
            boundaries=self.packages.store,
            elsewhere=self.elsewhere,
            workload=self.settings.workload,
            commit_interval=self.settings.commit_interval,
            collector=self.collector,
            send=self.send,
            refresh=refresh,
        ) as extractor:
            while not extractor.is_done:
                package = left or self.packages.new_package()
                left = None
                package.create()
                with (
                    self.collector(f"extract of {before.schema.name}"),
                    in_stage("extract", load_id=package.load_id),
                    package_context(package),
                ):
                    done = extractor.fill(package)
                yield package, done

    def _marked(self, made: list[tuple[Package, Extraction]], change: str | None) -> list[Package]:
        self.lease.check()
        for package, done in made:
            document = replace(done.extracted, change=change).to_dict()
            package.mark_extracted(document, epoch=self.lease.epoch)
        if made:
            # A marker that came after another run had begun does not count.
            self.lease.confirm()
        return [package for package, _ in made]
