"""Streams the items of a flow into packages; the driver holds a few row groups at a time."""

from __future__ import annotations

import time
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from penstock.config import in_scope
from penstock.errors import PenstockError
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.cursor.files import BoundaryFiles
from penstock.extract.emptied import emptied_tables
from penstock.extract.engine import Engine
from penstock.extract.filling import Filling
from penstock.extract.memory import copy_of_resources, forget_replaced, kept, restore_resources
from penstock.extract.plan import Rotation, Workload
from penstock.extract.report import ExtractReport
from penstock.extract.tables import TableBook
from penstock.extract.waves.landed import Landed
from penstock.extract.waves.split import Split, split
from penstock.interfaces.current import current, during
from penstock.interfaces.progress import Collector, Telling
from penstock.package.extracted import Extracted
from penstock.schema import Schema
from penstock.schema.frozen import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from penstock.extract.nodes import Node
    from penstock.extract.waves.elsewhere import Elsewhere
    from penstock.extract.waves.split import WaveWork
    from penstock.interfaces.landing import Sender
    from penstock.interfaces.refresh import Refresh
    from penstock.interfaces.source import Flow, Stream
    from penstock.package import FileStorage, Package
    from penstock.schema import NamingConvention, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What came of it: the report, and what the package remembers once it is marked."""

    info: ExtractReport
    extracted: Extracted
    state_changed: bool
    empties: bool
    """Whether a table that is there is left without a row."""

    @property
    def brings_something(self) -> bool:
        """Whether there is anything to load: rows, tables to empty or renew, or a state that has changed."""
        begins_anew = self.extracted.refresh is not None
        return bool(self.info.rows) or self.empties or self.state_changed or begins_anew


def extract(flow: Flow, package: Package, **how: Any) -> Extraction:
    """Write every row of a flow into one package; `how` is what `Extractor` takes."""
    with Extractor(flow, **how) as extractor:
        return extractor.fill(package)


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
        formats: frozenset[str] = frozenset(),
        known: Mapping[str, Table] = FrozenMap[Any](),
        boundaries: FileStorage | None = None,
        elsewhere: Elsewhere | None = None,
        rotation: Rotation | None = None,
        workload: Workload | None = None,
        commit_interval: float | None = None,
        collector: Collector | None = None,
        send: Sender | None = None,
        refresh: Refresh | None = None,
    ) -> None:
        # Also where a flow before this one, or the first package, has brought the refresh.
        self._refresh, self._begins_anew = refresh, flow.refresh is not None
        self._flow, self._schema_name, self._state = flow, schema_name, state
        self._schema: Schema = flow.source.schema if flow.source is not None else Schema(schema_name)
        self._rotation, self._workload = rotation or Rotation(), workload or Workload()
        self._interval, self._collector = commit_interval, collector or Collector()
        self._book = TableBook(
            naming,
            dispositions=dispositions,
            formats=formats,
            known=known,
            in_slices=commit_interval is not None,
        )
        self._cursors = Cursors(state, source=schema_name)
        self._known, self._boundaries, self._elsewhere = known, boundaries, elsewhere
        self._work = Split(here=flow)
        self._send = send
        self._engine: Engine | None = None
        self._failed: frozenset[str] = frozenset()
        self._has_landed = False

    @property
    def is_done(self) -> bool:
        """Whether all items have been read."""
        return self._engine is not None and not self._engine.is_paused

    def fill(self, package: Package) -> Extraction:
        """Write into a package. It is not marked: a crash leaves files that nobody will read."""
        started, before = time.monotonic(), kept(self._state)
        with self._moment():
            engine = self._begun(package)
            remembered = copy_of_resources(self._state, self._schema_name)
            telling = Telling(self._collector)
            landed = self._land(package, telling)
            with Filling.of(
                package.store,
                self._book,
                rotation=self._rotation,
                workload=self._workload,
                attempt=uuid.uuid4().hex[:12] if self._work.there else None,
                send=self._send,
                in_thread=engine.aside,
            ) as filling:
                self._pour(engine, filling, telling)
                landed.add(
                    self._land_spooled(package, telling, without=engine.failures.keys() | self._failed)
                )
                every = {**engine.failures, **landed.failures}
                self._cursors.settle(without=every.keys() | self._failed)
                every = self._with_what_moved_on(every, remembered)
                failures = {name: why for name, why in every.items() if name not in self._failed}
                self._raise_if_nothing_came(engine, every)
                if failures and self._begins_anew:
                    # What begins anew is given up: nothing may take its place but all that belongs there.
                    raise _joined(list(failures.values()))
                filling.drop(failures)
                _drop(landed, failures)
            _give_up(engine, failures)
            for name, why in failures.items():
                self._collector.mark(name, "left out", message=why.message)
            self._failed |= failures.keys()
            restore_resources(self._state, self._schema_name, failures, remembered)
        tables = (*filling.tables(), *landed.tables)
        if not engine.is_paused:
            brought = {name for name, rows in {**filling.rows, **landed.rows}.items() if rows}
            tables += emptied_tables(self._flow.streams, self._known, with_rows=brought | self._failed)
        declared = self._book.without(self._failed, written={table.table for table in tables})
        extracted = Extracted(
            schema_name=self._schema_name,
            tables=tables,
            declared={name: table.to_dict() for name, table in declared.items()},
            schema=None if self._flow.schema is None else self._schema.to_dict(),
            state=kept(self._state),
            contract=self._flow.contract,
            refresh=self._refresh,
        )
        self._refresh = None
        nodes = list(_all(engine.roots))
        info = ExtractReport(
            load_id=package.load_id,
            tables=tables,
            seconds=time.monotonic() - started,
            resources={node.name: filling.rows[node.name] for node in nodes if node.wanted} | landed.rows,
            put_aside=filling.put_aside | landed.put_aside,
            failures=failures,
            metrics={node.name: node.metrics for node in nodes if node.metrics},
        )
        return Extraction(
            info=info,
            extracted=extracted,
            state_changed=extracted.state != before,
            empties=any(table.empties and table.table in self._known for table in tables),
        )

    @contextmanager
    def _moment(self) -> Iterator[None]:
        """What user code may ask while it runs."""
        flow = self._flow
        with (
            during(
                source_name=self._schema_name,
                source=flow.source,
                schema=self._schema,
                state=self._state,
                seen=self._cursors.seen,
            ),
            in_scope(sections=flow.sections),
        ):
            yield

    def _begun(self, package: Package) -> Engine:
        """The engine; made in the moment of the first package, and told of every later one."""
        if self._boundaries is not None:
            self._cursors.files = BoundaryFiles(self._boundaries, load_id=package.load_id)
        if self._engine is None:
            forget_replaced(self._flow, self._state, self._schema_name)
            ships = self._elsewhere is not None and self._workload.work_items == "executors"
            self._work = split(self._flow, ships=ships)
            self._engine = Engine(self._work.here, self._workload, self._cursors)
        else:
            for node in _all(self._engine.roots):
                node.move(package=current().package)
        return self._engine

    def _land(self, package: Package, telling: Telling) -> Landed:
        """Have work items done elsewhere, once: what is done of them counts for this package."""
        works = () if self._has_landed else tuple(work for work in self._work.there if work.spool is None)
        self._has_landed = True
        return self._elsewhere_of(works, package, telling)

    def _land_spooled(self, package: Package, telling: Telling, *, without: Container[str]) -> Landed:
        """Have those done whose items the engine has read just now."""
        works = [work for work in self._work.there if work.spool is not None]
        landed = self._elsewhere_of(
            [work for work in works if work.stream.name not in without], package, telling
        )
        for work in works:
            if work.spool is not None:
                work.spool.clear()
        return landed

    def _elsewhere_of(self, works: Sequence[WaveWork], package: Package, telling: Telling) -> Landed:
        if self._elsewhere is None or not works:
            return Landed()
        return self._elsewhere.run(
            works,
            package,
            self._book,
            load=self._workload,
            cursors=self._cursors,
            tell=telling.now,
        )

    def _pour(self, engine: Engine, filling: Filling, telling: Telling) -> None:
        until = None if self._interval is None else time.monotonic() + self._interval
        with closing(engine.arrivals()) as arrivals:
            for node, item, mark in arrivals:
                try:
                    filling.take(node, item, mark)
                except PenstockError as error:
                    engine.fail(node, error)
                telling.now_and_then(filling.rows)
                if until is not None and time.monotonic() >= until:
                    engine.pause()
                    until = None
        telling.now(filling.rows)

    def _with_what_moved_on(
        self, failures: dict[str, PenstockError], before: Mapping[str, Any]
    ) -> dict[str, PenstockError]:
        """Failures, and what is left out with them: else items that a failed one did not get were lost."""
        if not failures:
            return failures
        now = copy_of_resources(self._state, self._schema_name)
        moved = {name for name, memory in now.items() if memory != before.get(name, {})}
        return _with_what_fed_them(self._flow.streams, failures, moved=moved)

    def _raise_if_nothing_came(self, engine: Engine, failures: Mapping[str, PenstockError]) -> None:
        wanted = {node.name for node in _all(engine.roots) if node.wanted}
        wanted |= {work.stream.name for work in self._work.there}
        if wanted and failures.keys() >= wanted:
            raise _joined(list(failures.values()))

    def close(self) -> None:
        """Close every generator and file that is still open."""
        for work in self._work.there:
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


def _joined(errors: list[PenstockError]) -> PenstockError:
    """The first error; the others are told in its notes."""
    first, *others = dict.fromkeys(errors)
    for other in others:
        first.add_note(f"and no other resource came through: {other.message}")
    return first


def _with_what_fed_them(
    streams: Iterable[Stream], failures: Mapping[str, PenstockError], *, moved: Container[str]
) -> dict[str, PenstockError]:
    """Failures, with every stream above one that remembers more than before, and all that it feeds."""
    chains = {
        one.name: tuple(above.name for above in one.chain()) for wanted in streams for one in wanted.chain()
    }
    found = dict(failures)
    for name, why in failures.items():
        above = [one for one in chains.get(name, ()) if one in moved]
        for other in (other for other, chain in chains.items() if above and above[-1] in chain):
            found.setdefault(other, why)
    return found


def _drop(landed: Landed, resources: Container[str]) -> None:
    """Leave out what executors wrote for resources that came to no good end here."""
    landed.tables[:] = [table for table in landed.tables if table.resource not in resources]
    for counts in (landed.rows, landed.put_aside):
        for name in [name for name in counts if name in resources]:
            del counts[name]


def _give_up(engine: Engine, failures: Mapping[str, PenstockError]) -> None:
    """Later packages take no item of what has failed after it was read."""
    for node in _all(engine.roots):
        if node.name in failures and node.name not in engine.failures:
            engine.fail(node, failures[node.name])


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)
