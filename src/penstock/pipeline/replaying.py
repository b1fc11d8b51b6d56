"""The replay of the quarantine: loads whose rows come from its table, and leave it with the same load."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.extract.waves.executors import ExecutorBackend
from penstock.interfaces.hints import TableHints, make_hints
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.pipeline.execution import Execution
from penstock.pipeline.planning import delete_incomplete_plans, delete_quietly
from penstock.pipeline.quarantine_reader import REPLAYED_COLUMN, quarantine_fingerprint, read_quarantine
from penstock.pipeline.replay import QuarantineReplay, ReplaySelection, select_rows, with_refused
from penstock.schema.defaults import ID_COLUMN
from penstock.sources import flows_of, mark
from penstock.sources.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.interfaces import DestinationCapabilitiesContext, Flow
    from penstock.normalize.report import NormalizeReport
    from penstock.package import Manifest, Package
    from penstock.package.lease import Lease
    from penstock.pipeline.quarantine_reader import QuarantineReader
    from penstock.pipeline.replay import ReplayedTable
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import Schema


class ReplayExecution(Execution):
    """One call of `replay_quarantine`."""

    _fingerprint: object = None
    """The fingerprint of the quarantine that the load replaces."""

    def replay(self, *, table: str | None, rule: str | None, contract: Any) -> QuarantineReplay:
        """Load pending packages, then the quarantined rows: one load for each schema."""
        with self._lease("load") as lease:
            last = self._last_sealed_load(lease)
            self._sync_local_copies()
            self._prepare_packages(lease)
            self._resume_sealed_load(last, lease)
            if last is not None and last.to_load is not None and last.to_load.is_replay:
                self._recorder.notes.append(f"load {last.to_load.load_id} completed an earlier replay")
            pending, _ = self._unfinished_packages(lease)
            for package in pending:
                self._normalize_and_load(package, lease)
            delete_incomplete_plans(self._packages, lease)
            selection = ReplaySelection()
            names: list[str] | None = None
            tables: list[ReplayedTable] = []
            load_ids: list[str] = []
            while names is None or names:
                # The load of one schema changes the quarantine for the next.
                with read_quarantine(self._workspace) as reader:
                    current = self._select(reader, table, rule)
                    if names is None:
                        selection, names = current, list(current.schema_names)
                    if reader is None or not names:
                        break
                    chosen = current.of_schema(names.pop(0))
                    packages = self._extract(reader, chosen, contract, lease) if chosen.tables else []
                tables += self._load(packages, chosen, lease)
                load_ids += [package.load_id for package in packages]
        return QuarantineReplay(
            pipeline_name=self._target.pipeline.pipeline_name,
            tables=tuple(tables),
            skipped_rows=selection.skipped,
            load_ids=tuple(load_ids),
            notes=tuple(self._recorder.notes),
        )

    def _select(
        self, reader: QuarantineReader | None, table: str | None, rule: str | None
    ) -> ReplaySelection:
        with self._recorder.attribute_errors("extract"):
            groups = [] if reader is None else reader.groups()
            return select_rows(groups, schemas_of(self._workspace), table=table, rule=rule)

    def _extract(
        self, reader: QuarantineReader, chosen: ReplaySelection, contract: Any, lease: Lease
    ) -> list[Package]:
        """Extract the rows of one schema into a package that no run loads before it is sealed."""
        extraction = self._make_extraction(
            lease,
            snapshot_of=self._workspace.snapshot,
            step=self._extract_step,
            executors=ExecutorBackend(self._workspace.session, lease.check),
            is_planned=True,
        )
        capabilities = self._target.destination.capabilities()
        packages = list(extraction.extract([replay_flow(reader, chosen, capabilities, contract)]))
        self._fingerprint = None if capabilities.merges_driver_files else reader.fingerprint
        return packages

    def _load(
        self, packages: Sequence[Package], chosen: ReplaySelection, lease: Lease
    ) -> list[ReplayedTable]:
        try:
            for package in packages:
                self._normalize_and_load(package, lease)
        except BaseException:
            delete_quietly([package for package in packages if package.status == "planned"])
            raise
        load_ids = {package.load_id for package in packages}
        reports = [report for report in self._recorder.normalize_reports if report.load_id in load_ids]
        return with_refused(chosen.tables, refused_rows(reports))

    def _seal_manifest(self, manifest: Manifest, lease: Lease) -> None:
        """Seal a load; rows that another pipeline has quarantined meanwhile must not be replaced."""
        is_checked = manifest.is_replay and self._fingerprint is not None
        if is_checked and quarantine_fingerprint(self._workspace) != self._fingerprint:
            raise UsageError(
                f"another pipeline has changed {QUARANTINE_TABLE} during the replay",
                hint="replay the rows again: nothing was changed",
            )
        super()._seal_manifest(manifest, lease)


def preview_replay(workspace: Workspace, *, table: str | None, rule: str | None) -> QuarantineReplay:
    """Return what the next replay reads; nothing is changed."""
    with workspace.client, read_quarantine(workspace) as reader:
        groups = [] if reader is None else reader.groups()
        selection = select_rows(groups, schemas_of(workspace), table=table, rule=rule)
    return QuarantineReplay(
        pipeline_name=workspace.target.pipeline.pipeline_name,
        tables=selection.tables,
        skipped_rows=selection.skipped,
    )


def schemas_of(workspace: Workspace) -> dict[str, Schema]:
    """Return the schemas after the last complete load, by name, the default one first."""
    default = workspace.snapshot()
    others = [name for name in default.state.get("schema_names") or () if name != default.schema.name]
    return {default.schema.name: default.schema} | {name: workspace.snapshot(name).schema for name in others}


def replay_flow(
    reader: QuarantineReader,
    selection: ReplaySelection,
    capabilities: DestinationCapabilitiesContext,
    contract: Any,
) -> Flow:
    """Return the flow of a replay: rows of one schema by resource, and the change of the quarantine table."""
    by_resource: dict[str, list[ReplayedTable]] = {}
    for table in selection.tables:
        by_resource.setdefault(table.resource, []).append(table)

    def changes() -> Iterator[Any]:
        groups = selection.groups
        yield reader.removals(groups) if capabilities.merges_driver_files else reader.remaining(groups)

    def rows_of(tables: Sequence[ReplayedTable]) -> Iterator[Any]:
        for table in tables:
            own = [group for group in selection.groups if group.table == table.table]
            groups = [group for group in own if group.resource == table.resource]
            hints = make_hints(table_name=table.table, write_disposition=table.write_disposition)
            yield mark.with_hints(reader.replayed(groups), hints)

    resources = [
        Resource.from_data(
            changes, name=QUARANTINE_TABLE, hints=_quarantine_hints(merges=capabilities.merges_driver_files)
        ),
        *(Resource.from_data(rows_of, name=name).bind(tables) for name, tables in by_resource.items()),
    ]
    (flow,) = flows_of(resources, schema_contract=contract)
    (name,) = selection.schema_names
    return replace(flow, name=name)


def _quarantine_hints(*, merges: bool) -> TableHints:
    """Return the hints of the quarantine table for a replay.

    A database has no versions of tables, so rows are removed one by one, whatever others add meanwhile.
    """
    if not merges:
        return make_hints(table_name=QUARANTINE_TABLE, write_disposition="replace")
    return make_hints(
        table_name=QUARANTINE_TABLE,
        write_disposition={"disposition": "merge", "strategy": "delete-insert"},
        primary_key=ID_COLUMN,
        columns={REPLAYED_COLUMN: {"data_type": "bool", "hard_delete": True}},
    )


def refused_rows(reports: Sequence[NormalizeReport]) -> dict[str, int]:
    """Return how many root rows of each table were refused or could not be read."""
    counts: Counter[str] = Counter()
    for report in reports:
        for root in report.roots:
            counts[root.table] += root.refused + root.unreadable
    return counts
