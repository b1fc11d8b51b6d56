"""Streams the items of a flow into packages; the driver holds a few row groups at a time."""

from __future__ import annotations

import time
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass
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
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.schema import Schema
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from penstock.extract.nodes import Node
    from penstock.extract.waves.executors import ExecutorBackend
    from penstock.extract.waves.split import WaveResource
    from penstock.interfaces.frame_engine import FrameEngine, RowSender
    from penstock.interfaces.refresh import Refresh
    from penstock.interfaces.source import Flow, Stream
    from penstock.package import FileStorage, Package
    from penstock.schema import NamingConvention, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractResult:
    """What came of it: the report, and what the package remembers once it is marked."""

    report: ExtractReport
    extracted: ExtractManifest
    state_changed: bool
    truncates_tables: bool
    """Whether a table that is there is left without a row."""

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to load: rows, tables to empty or renew, or a state that has changed."""
        begins_anew = self.extracted.refresh is not None
        return bool(self.report.rows) or self.truncates_tables or self.state_changed or begins_anew


def extract(flow: Flow, package: Package, **options: Any) -> ExtractResult:
    """Write every row of a flow into one package; `how` is what `Extractor` takes."""
    with Extractor(flow, **options) as extractor:
        return extractor.extract_into(package)


class Extractor:
    """One reading of a flow, into one package or into several, one after the other.

    `state` is that of the pipeline, a copy that user code may change. `dispositions` are those that the
    destination has, and `formats` those that a table which is merged must name one of; others are refused
    when their first row comes. `known` are the tables of the schema before. With `commit_interval` a
    package takes what comes in so many seconds. What cursors remember and the state has no room for goes
    to `boundaries`, which stays when packages go. `elsewhere` runs resources with work items on
    executors, all of them into the first package; without it they run here. With `send` a Spark session
    writes the files. `refresh` goes with the first package. Use as a context manager: generators are closed
    at the end.
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
        # Also where a flow before this one, or the first package, has brought the refresh.
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
        """Write into a package. It is not marked: a crash leaves files that nobody will read."""
        started, before = time.monotonic(), typed_copy(self._state)
        with self._user_context():
            engine = self._prepare_engine(package)
            remembered = copy_resource_states(self._state, self._schema_name)
            telling = ThrottledProgress(self._collector)
            landed = self._run_declared_waves(package, telling)
            with PackageWriter.open(
                package.store,
                self._router,
                rotation=self._rotation,
                workload=self._workload,
                attempt=uuid.uuid4().hex[:12] if self._split.wave_resources else None,
                send=self._send,
                frame_engine=self._frame_engine,
                submit=engine.submit,
            ) as filling:
                self._drain(engine, filling, telling)
                landed.add(
                    self._run_spooled_waves(
                        package, telling, excluded=engine.failures.keys() | self._failed_resources
                    )
                )
                every = {**engine.failures, **landed.failures}
                self._cursors.write_state(failed_resources=every.keys() | self._failed_resources)
                every = self._with_dependent_failures(every, remembered)
                failures = {name: why for name, why in every.items() if name not in self._failed_resources}
                self._raise_if_all_failed(engine, every)
                if failures and self._is_refresh:
                    # What begins anew is given up: nothing may take its place but all that belongs there.
                    raise _combined_error(list(failures.values()))
                filling.discard_resources(failures)
                _discard_resources(landed, failures)
            _mark_failed(engine, failures)
            for name, why in failures.items():
                self._collector.mark(name, "left out", message=why.message)
            self._failed_resources |= failures.keys()
            restore_resource_states(self._state, self._schema_name, failures, remembered)
        tables = (*filling.tables(), *landed.tables)
        if not engine.is_paused:
            brought = {name for name, rows in {**filling.rows, **landed.rows}.items() if rows}
            tables += truncated_tables(
                self._flow.streams, self._schema_tables, resources_with_rows=brought | self._failed_resources
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
        )
        self._refresh = None
        nodes = list(_all_nodes(engine.roots))
        info = ExtractReport(
            load_id=package.load_id,
            tables=tables,
            seconds=time.monotonic() - started,
            resources={node.name: filling.rows[node.name] for node in nodes if node.is_selected}
            | landed.rows,
            put_aside=filling.quarantined_rows | landed.quarantined_rows,
            failures=failures,
            metrics={node.name: node.metrics for node in nodes if node.metrics},
        )
        return ExtractResult(
            report=info,
            extracted=extracted,
            state_changed=extracted.state != before,
            truncates_tables=any(
                table.truncates_table and table.table in self._schema_tables for table in tables
            ),
        )

    @contextmanager
    def _user_context(self) -> Iterator[None]:
        """What user code may ask while it runs."""
        flow = self._flow
        with (
            override_context(
                source_name=self._schema_name,
                source=flow.source,
                schema=self._schema,
                state=self._state,
                open_seen_set=self._cursors.seen_items,
            ),
            in_scope(sections=flow.sections),
        ):
            yield

    def _prepare_engine(self, package: Package) -> ExtractEngine:
        """The engine; made in the moment of the first package, and told of every later one."""
        if self._boundary_store is not None:
            self._cursors.files = BoundaryFiles(self._boundary_store, load_id=package.load_id)
        if self._engine is None:
            reset_replaced_resources(self._flow, self._state, self._schema_name)
            ships = self._executors is not None and self._workload.work_items == "executors"
            self._split = split_flow(self._flow, on_executors=ships)
            self._engine = ExtractEngine(self._split.driver_flow, self._workload, self._cursors)
        else:
            for node in _all_nodes(self._engine.roots):
                node.update_context(package=current_context().package)
        return self._engine

    def _run_declared_waves(self, package: Package, progress: ThrottledProgress) -> WaveResult:
        """Have work items done elsewhere, once: what is done of them counts for this package."""
        works = (
            ()
            if self._has_run_waves
            else tuple(work for work in self._split.wave_resources if work.spool is None)
        )
        self._has_run_waves = True
        return self._run_on_executors(works, package, progress)

    def _run_spooled_waves(
        self, package: Package, progress: ThrottledProgress, *, excluded: Container[str]
    ) -> WaveResult:
        """Have those done whose items the engine has read just now."""
        works = [work for work in self._split.wave_resources if work.spool is not None]
        landed = self._run_on_executors(
            [work for work in works if work.stream.name not in excluded], package, progress
        )
        for work in works:
            if work.spool is not None:
                work.spool.clear()
        return landed

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
        until = None if self._commit_interval is None else time.monotonic() + self._commit_interval
        with closing(engine.items()) as arrivals:
            for node, item, mark in arrivals:
                try:
                    writer.write_item(node, item, mark)
                except PenstockError as error:
                    engine.fail(node, error)
                progress.report(writer.rows)
                if until is not None and time.monotonic() >= until:
                    engine.pause()
                    until = None
        progress.report_now(writer.rows)

    def _with_dependent_failures(
        self, failures: dict[str, PenstockError], previous_states: Mapping[str, Any]
    ) -> dict[str, PenstockError]:
        """Failures, and what is left out with them: else items that a failed one did not get were lost."""
        if not failures:
            return failures
        now = copy_resource_states(self._state, self._schema_name)
        moved = {name for name, memory in now.items() if memory != previous_states.get(name, {})}
        return _with_upstream_failures(self._flow.streams, failures, changed=moved)

    def _raise_if_all_failed(self, engine: ExtractEngine, failures: Mapping[str, PenstockError]) -> None:
        wanted = {node.name for node in _all_nodes(engine.roots) if node.is_selected}
        wanted |= {work.stream.name for work in self._split.wave_resources}
        if wanted and failures.keys() >= wanted:
            raise _combined_error(list(failures.values()))

    def close(self) -> None:
        """Close every generator and file that is still open."""
        for work in self._split.wave_resources:
            if work.spool is not None:
                work.spool.clear()
        if self._engine is not None and self._engine.is_paused:
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _combined_error(errors: list[PenstockError]) -> PenstockError:
    """The first error; the others are told in its notes."""
    first, *others = dict.fromkeys(errors)
    for other in others:
        first.add_note(f"and no other resource came through: {other.message}")
    return first


def _with_upstream_failures(
    streams: Iterable[Stream], failures: Mapping[str, PenstockError], *, changed: Container[str]
) -> dict[str, PenstockError]:
    """Failures, with every stream above one that remembers more than before, and all that it feeds."""
    chains = {
        one.name: tuple(above.name for above in one.chain()) for wanted in streams for one in wanted.chain()
    }
    found = dict(failures)
    for name, why in failures.items():
        above = [one for one in chains.get(name, ()) if one in changed]
        for other in (other for other, chain in chains.items() if above and above[-1] in chain):
            found.setdefault(other, why)
    return found


def _discard_resources(result: WaveResult, resources: Container[str]) -> None:
    """Leave out what executors wrote for resources that came to no good end here."""
    result.tables[:] = [table for table in result.tables if table.resource not in resources]
    for counts in (result.rows, result.quarantined_rows):
        for name in [name for name in counts if name in resources]:
            del counts[name]


def _mark_failed(engine: ExtractEngine, failures: Mapping[str, PenstockError]) -> None:
    """Later packages take no item of what has failed after it was read."""
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
    """The tables to empty, root tables only: what is nested in them goes with them.

    `known` are the tables of the schema, `with_rows` the resources that brought something or failed. As in
    dlt a resource empties all of its tables or none: one that names them row by row and brings rows for some
    says nothing of the others.
    """
    silent = {one.name for one in streams if one.selected and one.hints.disposition == "replace"}
    silent -= set(resources_with_rows)
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
        if not table.is_nested and table.resource in silent and table.has_seen_data
    )


def read_items(
    flow: Flow,
    sessions: Callable[[Mapping[str, str]], Any] | None = None,
    frame_engine: FrameEngine | None = None,
) -> Iterator[Any]:
    """The items of all selected streams, pages taken apart, marks taken off. State lasts as long as this.

    `sessions` are for resources that make DataFrames.
    """
    state = current_context().state
    kept = {} if state is None else state
    cursors = Cursors(kept, source=str(flow.name), frame_engine=frame_engine)
    with (
        override_context(
            source_name=flow.name,
            source=flow.source,
            state=kept,
            open_seen_set=cursors.seen_items,
            lend_session=current_context().lend_session or sessions,
        ),
        in_scope(sections=flow.sections),
    ):
        # The context is that of this moment; what is asked for later runs in copies of it.
        engine = ExtractEngine(as_driver_flow(flow), Workload(), cursors)
    with closing(engine.items()) as arrivals:
        for _, item, _ in arrivals:
            if isinstance(item, list):
                yield from item
            elif item is not None:
                yield item
    if state is not None:
        cursors.write_state()
