"""Extraction of a flow: its items are streamed into packages, a few row groups in memory at a time."""

from __future__ import annotations

import time
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from penstock.config import in_scope
from penstock.errors import PenstockError
from penstock.extract.cursor.boundary_files import BoundaryFiles
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.engine import ExtractEngine
from penstock.extract.package_writer import PackageWriter
from penstock.extract.plan import Rotation, Workload
from penstock.extract.report import ExtractReport
from penstock.extract.routing import TableRouter
from penstock.extract.source_state import (
    copy_resource_states,
    reset_replaced_resources,
    restore_resource_states,
    typed_copy,
)
from penstock.extract.waves.driver import as_driver_flow
from penstock.extract.waves.result import WaveResult
from penstock.extract.waves.split import FlowSplit, split_flow
from penstock.interfaces.progress import Collector, ThrottledProgress
from penstock.interfaces.run_context import current_context, override_context
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest, extracted_job_name
from penstock.package.metrics import DataWriterMetrics
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.schema import Schema
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from penstock.extract.nodes import Node
    from penstock.extract.waves.executors import ExecutorBackend
    from penstock.extract.waves.split import WaveResource
    from penstock.interfaces.check import Check
    from penstock.interfaces.frame_engine import FrameEngine, RowSender
    from penstock.interfaces.refresh import Refresh
    from penstock.interfaces.source import Flow, Stream
    from penstock.package import FileStorage, Package
    from penstock.schema import NamingConvention, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractResult:
    """The result for one package: the report, and the manifest to mark the package with."""

    report: ExtractReport
    extracted: ExtractManifest
    state_changed: bool
    changes_without_rows: bool
    """Whether an existing table is emptied, or one is created without rows."""

    @property
    def has_changes(self) -> bool:
        """Whether the package must be loaded: for rows, truncated or new tables, a refresh or new state."""
        is_refresh = self.extracted.refresh is not None
        return bool(self.report.rows) or self.changes_without_rows or self.state_changed or is_refresh


def extract(flow: Flow, package: Package, **options: Any) -> ExtractResult:
    """Write every row of a flow into one package; `options` are the parameters of `Extractor`."""
    with Extractor(flow, **options) as extractor:
        return extractor.extract_into(package)


class Extractor:
    """One pass over a flow, into one package or into several, one after the other.

    `state` is a copy of the pipeline's state that user code may change. `dispositions` are supported by the
    destination, and a merged table must name one of `table_formats`; other tables are refused at their first
    row. `schema_tables` are the tables of the schema before. With `commit_interval` a package takes the items
    of so many seconds. Hashes of cursors beyond the limit of the state are written to `boundary_store`, which
    outlives packages. `executors` runs resources with work items, all into the first package; without it they
    run on the driver. `frame_engine` writes and filters Spark DataFrames. With `send` a Spark session writes
    the files. `refresh` is stored in the first package. Use as a context manager: generators are closed at
    the end.
    """

    def __init__(  # noqa: PLR0913 - everything that a run decides about extraction
        self,
        flow: Flow,
        *,
        schema_name: str,
        naming: NamingConvention,
        state: dict[str, Any],
        dispositions: frozenset[str] | None = None,
        table_formats: frozenset[str] = frozenset(),
        schema_tables: Mapping[str, Table] = FrozenMap[Any](),
        boundary_store: FileStorage | None = None,
        executors: ExecutorBackend | None = None,
        frame_engine: FrameEngine | None = None,
        rotation: Rotation | None = None,
        workload: Workload | None = None,
        commit_interval: float | None = None,
        collector: Collector | None = None,
        send: RowSender | None = None,
        refresh: Refresh | None = None,
    ) -> None:
        # Also if an earlier flow or the first package carries the refresh.
        self._refresh, self._is_refresh = refresh, flow.refresh is not None
        self._flow, self._schema_name, self._state = flow, schema_name, state
        self._schema: Schema = flow.source.schema if flow.source is not None else Schema(schema_name)
        self._rotation, self._workload = rotation or Rotation(), workload or Workload()
        self._commit_interval, self._collector = commit_interval, collector or Collector()
        self._router = TableRouter(
            naming,
            dispositions=dispositions,
            table_formats=table_formats,
            schema_tables=schema_tables,
            has_commit_interval=commit_interval is not None,
        )
        self._cursors = Cursors(state, source=schema_name, frame_engine=frame_engine)
        self._frame_engine = frame_engine
        self._schema_tables, self._boundary_store, self._executors = schema_tables, boundary_store, executors
        self._split = FlowSplit(driver_flow=flow)
        self._send = send
        self._engine: ExtractEngine | None = None
        self._failed_resources: frozenset[str] = frozenset()
        self._has_run_waves = False

    @property
    def is_done(self) -> bool:
        """Whether all items have been read."""
        return self._engine is not None and not self._engine.is_paused

    def extract_into(self, package: Package) -> ExtractResult:
        """Write into a package. The caller marks it: after a crash, no process reads its files."""
        started, started_at = time.monotonic(), datetime.now(UTC)
        previous_state = typed_copy(self._state)
        with self._user_context():
            engine = self._prepare_engine(package)
            resource_states = copy_resource_states(self._state, self._schema_name)
            progress = ThrottledProgress(self._collector)
            waves = self._run_declared_waves(package, progress)
            with PackageWriter.open(
                package,
                self._router,
                rotation=self._rotation,
                workload=self._workload,
                attempt=uuid.uuid4().hex[:12] if self._split.wave_resources else None,
                send=self._send,
                frame_engine=self._frame_engine,
                submit=engine.submit,
            ) as writer:
                self._drain(engine, writer, progress)
                excluded = engine.failures.keys() | self._failed_resources
                waves.add(self._run_spooled_waves(package, progress, excluded=excluded))
                all_failures = {**engine.failures, **waves.failures}
                self._cursors.write_state(failed_resources=all_failures.keys() | self._failed_resources)
                all_failures = self._with_dependent_failures(all_failures, resource_states)
                failures = {
                    name: error for name, error in all_failures.items() if name not in self._failed_resources
                }
                self._raise_if_all_failed(engine, all_failures)
                if failures and self._is_refresh:
                    # A refresh with a failed resource would replace complete data by incomplete data.
                    raise _combined_error(list(failures.values()))
                writer.discard_resources(failures)
                _discard_resources(waves, failures)
            _mark_failed(engine, failures)
            for name, error in failures.items():
                self._collector.mark(name, "left out", message=error.message)
            self._failed_resources |= failures.keys()
            restore_resource_states(self._state, self._schema_name, failures, resource_states)
        tables = (*writer.tables(), *waves.tables)
        if not engine.is_paused:
            with_rows = {name for name, rows in {**writer.rows, **waves.rows}.items() if rows}
            tables += truncated_tables(
                self._flow.streams,
                self._schema_tables,
                resources_with_rows=with_rows | self._failed_resources,
            )
        declared = self._router.tables_without(
            self._failed_resources, written_tables={table.table for table in tables}
        )
        extracted = ExtractManifest(
            schema_name=self._schema_name,
            tables=tables,
            declared_tables={name: table.to_dict() for name, table in declared.items()},
            schema=None if self._flow.schema is None else self._schema.to_dict(),
            state=typed_copy(self._state),
            contract=self._flow.contract,
            refresh=self._refresh,
            checks=(*self._flow.expectations, *self._gates({*declared, *(each.table for each in tables)})),
        )
        self._refresh = None
        nodes = list(_all_nodes(engine.roots))
        info = ExtractReport(
            load_id=package.load_id,
            tables=tables,
            seconds=time.monotonic() - started,
            resources={node.name: writer.rows[node.name] for node in nodes if node.is_selected} | waves.rows,
            quarantined_rows=writer.quarantined_rows | waves.quarantined_rows,
            failures=failures,
            custom_metrics={node.name: node.metrics for node in nodes if node.metrics},
            schema_name=self._schema_name,
            started_at=started_at,
            jobs={
                extracted_job_name(table, self._schema.naming).job_id(): DataWriterMetrics(
                    package.store.path(table.folder), table.rows, table.bytes
                )
                for table in tables
            },
        )
        return ExtractResult(
            report=info,
            extracted=extracted,
            state_changed=extracted.state != previous_state,
            changes_without_rows=any(
                table.changes_without_rows(exists=table.table in self._schema_tables) for table in tables
            ),
        )

    @contextmanager
    def _user_context(self) -> Iterator[None]:
        """Set the context that user code reads while it runs."""
        flow = self._flow
        with (
            override_context(
                source_name=self._schema_name,
                source=flow.source,
                schema=self._schema,
                state=self._state,
                open_seen_set=self._cursors.seen_items,
                # A refreshed table is empty for its source.
                read_loaded=None if self._is_refresh else current_context().read_loaded,
            ),
            in_scope(sections=flow.sections),
        ):
            yield

    def _gates(self, tables: Collection[str]) -> Iterator[Check]:
        """Yield the gates of tables of this flow, nested ones too; a run may have other flows."""
        naming = self._schema.naming
        names = {naming.normalize_tables_path(table) for table in tables} | self._schema_tables.keys()
        for gate in self._flow.gates:
            table = naming.normalize_tables_path(gate.table or "")
            if self._flow.is_only_one or any(f"{table}__".startswith(f"{name}__") for name in names):
                yield gate

    def _prepare_engine(self, package: Package) -> ExtractEngine:
        """Return the engine: created for the first package, with its context updated for later ones."""
        if self._boundary_store is not None:
            self._cursors.files = BoundaryFiles(self._boundary_store, load_id=package.load_id)
        if self._engine is None:
            reset_replaced_resources(self._flow, self._state, self._schema_name)
            on_executors = self._executors is not None and self._workload.work_items == "executors"
            self._split = split_flow(self._flow, on_executors=on_executors)
            self._engine = ExtractEngine(self._split.driver_flow, self._workload, self._cursors)
        else:
            for node in _all_nodes(self._engine.roots):
                node.update_context(package=current_context().package)
        return self._engine

    def _run_declared_waves(self, package: Package, progress: ThrottledProgress) -> WaveResult:
        """Run resources with declared work items on executors, once, into this package."""
        if self._has_run_waves:
            return WaveResult()
        self._has_run_waves = True
        declared = [resource for resource in self._split.wave_resources if resource.spool is None]
        return self._run_on_executors(declared, package, progress)

    def _run_spooled_waves(
        self, package: Package, progress: ThrottledProgress, *, excluded: Container[str]
    ) -> WaveResult:
        """Run resources on executors whose work items the engine has read into their spools."""
        spooled = [
            resource
            for resource in self._split.wave_resources
            if resource.spool is not None and resource.stream.name not in excluded
        ]
        result = self._run_on_executors(spooled, package, progress)
        self._clear_spools()
        return result

    def _run_on_executors(
        self, resources: Sequence[WaveResource], package: Package, progress: ThrottledProgress
    ) -> WaveResult:
        if self._executors is None or not resources:
            return WaveResult()
        return self._executors.run(
            resources,
            package,
            self._router,
            workload=self._workload,
            cursors=self._cursors,
            report_rows=progress.report_now,
        )

    def _drain(self, engine: ExtractEngine, writer: PackageWriter, progress: ThrottledProgress) -> None:
        deadline = None if self._commit_interval is None else time.monotonic() + self._commit_interval
        with closing(engine.items()) as items:
            for node, item, mark in items:
                try:
                    writer.write_item(node, item, mark)
                except PenstockError as error:
                    engine.fail(node, error)
                progress.report(writer.rows)
                if deadline is not None and time.monotonic() >= deadline:
                    engine.pause()
                    deadline = None
        progress.report_now(writer.rows)

    def _with_dependent_failures(
        self, failures: dict[str, PenstockError], previous_states: Mapping[str, Any]
    ) -> dict[str, PenstockError]:
        """Return failures with the resources to exclude too, so that no item for a failed one is lost."""
        if not failures:
            return failures
        states = copy_resource_states(self._state, self._schema_name)
        changed = {name for name, state in states.items() if state != previous_states.get(name, {})}
        return _with_upstream_failures(self._flow.streams, failures, changed=changed)

    def _raise_if_all_failed(self, engine: ExtractEngine, failures: Mapping[str, PenstockError]) -> None:
        selected = {node.name for node in _all_nodes(engine.roots) if node.is_selected}
        selected |= {resource.stream.name for resource in self._split.wave_resources}
        if selected and failures.keys() >= selected:
            raise _combined_error(list(failures.values()))

    def close(self) -> None:
        """Close every open generator and file."""
        self._clear_spools()
        if self._engine is not None and self._engine.is_paused:
            self._engine.close()

    def _clear_spools(self) -> None:
        for resource in self._split.wave_resources:
            if resource.spool is not None:
                resource.spool.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _combined_error(errors: list[PenstockError]) -> PenstockError:
    """Return the first error, with the others as notes."""
    first, *others = dict.fromkeys(errors)
    for other in others:
        first.add_note(f"all resources failed; also: {other.message}")
    return first


def _with_upstream_failures(
    streams: Iterable[Stream], failures: Mapping[str, PenstockError], *, changed: Container[str]
) -> dict[str, PenstockError]:
    """Return failures, with the topmost changed parent of each failed stream and all that it feeds."""
    chains = {
        stream.name: tuple(parent.name for parent in stream.chain())
        for selected in streams
        for stream in selected.chain()
    }
    all_failures = dict(failures)
    for name, error in failures.items():
        changed_parents = [parent for parent in chains.get(name, ()) if parent in changed]
        for other, chain in chains.items():
            if changed_parents and changed_parents[-1] in chain:
                all_failures.setdefault(other, error)
    return all_failures


def _discard_resources(result: WaveResult, resources: Container[str]) -> None:
    """Discard everything that executors wrote for failed resources."""
    result.tables[:] = [table for table in result.tables if table.resource not in resources]
    for counts in (result.rows, result.quarantined_rows):
        for name in [name for name in counts if name in resources]:
            del counts[name]


def _mark_failed(engine: ExtractEngine, failures: Mapping[str, PenstockError]) -> None:
    """Exclude resources from later packages that failed after they were read."""
    for node in _all_nodes(engine.roots):
        if node.name in failures and node.name not in engine.failures:
            engine.fail(node, failures[node.name])


def _all_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all_nodes(node.children)


def truncated_tables(
    streams: Iterable[Stream], schema_tables: Mapping[str, Table], *, resources_with_rows: Collection[str]
) -> tuple[ExtractedTable, ...]:
    """Return the tables that a resource replaces by nothing: root tables, which empty their nested tables.

    `resources_with_rows` include failed ones. As in dlt, a resource empties all of its tables or none: with
    rows for some of them, the others are unchanged.
    """
    replacing = {
        stream.name for stream in streams if stream.selected and stream.hints.disposition == "replace"
    }
    without_rows = replacing - set(resources_with_rows)
    return tuple(
        ExtractedTable(
            table=name,
            resource=table.resource or name,
            write_disposition="replace",
            folder=f"data/emptied/{number:05d}",
            rows=0,
            bytes=0,
            files=0,
        )
        for number, (name, table) in enumerate(schema_tables.items())
        if not table.is_nested and _writer_of(table) in without_rows and table.has_seen_data
    )


def _writer_of(table: Table) -> str | None:
    # Rows of all resources are quarantined, and only a replay replaces them.
    return QUARANTINE_TABLE if table.name == QUARANTINE_TABLE else table.resource


def read_items(
    flow: Flow,
    sessions: Callable[[Mapping[str, str]], Any] | None = None,
    frame_engine: FrameEngine | None = None,
) -> Iterator[Any]:
    """Yield the items of all selected streams, without pages and marks. State lasts as long as the iteration.

    `sessions` are for resources that create DataFrames.
    """
    active_state = current_context().state
    state = {} if active_state is None else active_state
    cursors = Cursors(state, source=str(flow.name), frame_engine=frame_engine)
    with (
        override_context(
            source_name=flow.name,
            source=flow.source,
            state=state,
            open_seen_set=cursors.seen_items,
            lend_session=current_context().lend_session or sessions,
        ),
        in_scope(sections=flow.sections),
    ):
        # Nodes copy the context here, and run in their copies later.
        engine = ExtractEngine(as_driver_flow(flow), Workload(), cursors)
    with closing(engine.items()) as items:
        for _, item, _ in items:
            if isinstance(item, list):
                yield from item
            elif item is not None:
                yield item
    if active_state is not None:
        cursors.write_state()
