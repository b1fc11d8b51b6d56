"""Streams the items of a flow into a package; the driver holds a few row groups at a time."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from penstock.config import in_scope
from penstock.extract.aside import Aside
from penstock.extract.encode import encode
from penstock.extract.engine import Engine
from penstock.extract.frames import pages_of
from penstock.extract.plan import Rotation, Workload
from penstock.extract.report import ExtractInfo
from penstock.extract.tables import TableBook
from penstock.extract.waves.landed import Landed, joined
from penstock.extract.waves.split import split
from penstock.extract.writers import Writers
from penstock.interfaces.current import during
from penstock.package.extracted import Extracted, ExtractedTable
from penstock.package.typed import to_typed
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.extract.nodes import Node
    from penstock.extract.tables import Route
    from penstock.extract.waves.elsewhere import Elsewhere
    from penstock.extract.writers import TableWriter
    from penstock.interfaces.source import Flow
    from penstock.package import Package
    from penstock.schema import NamingConvention

_REFUSED = (orjson.JSONEncodeError, TypeError, ValueError, RecursionError)
_SOURCES, _RESOURCES = "sources", "resources"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What came of it: the report, and what the package remembers once it is marked."""

    info: ExtractInfo
    extracted: Extracted
    state_changed: bool

    @property
    def brings_something(self) -> bool:
        """Whether there is anything to load: rows, or a state that is not what it was."""
        return bool(self.info.rows) or self.state_changed


def extract(  # noqa: PLR0913 - what a pipeline knows and a flow does not
    flow: Flow,
    package: Package,
    *,
    schema_name: str,
    naming: NamingConvention,
    state: dict[str, Any],
    dispositions: frozenset[str] | None = None,
    rotation: Rotation | None = None,
    workload: Workload | None = None,
    elsewhere: Elsewhere | None = None,
) -> Extraction:
    """Write every row of a flow. The package is not marked: a crash leaves files that nobody will read.

    `state` is that of the pipeline, a copy that user code may change. `dispositions` are those that the
    destination has; other ones are refused when their first row comes. `elsewhere` runs resources with work
    items on executors; without it they run here.
    """
    started, load = time.monotonic(), workload or Workload()
    schema: Schema = flow.source.schema if flow.source is not None else Schema(schema_name)
    with (
        during(source_name=schema_name, source=flow.source, schema=schema, state=state),
        in_scope(sections=flow.sections),
    ):
        before = _kept(state)
        _forget_replaced(flow, state, schema_name)
        work = split(flow, ships=elsewhere is not None and load.work_items == "executors")
        engine = Engine(work.here, load)
        book = TableBook(naming, dispositions=dispositions)
        landed = elsewhere.run(work.there, package, book, load) if elsewhere and work.there else Landed()
        attempt = uuid.uuid4().hex[:12] if work.there else None
        with Writers(package.store, rotation or Rotation(), attempt=attempt) as writers:
            aside = Aside(writers, on_bad_row=load.on_bad_row)
            rows = _write(engine, book, writers, aside)
    extracted = Extracted(
        schema_name=schema_name,
        tables=joined((*(_table(writer, book) for writer in writers.tables.values()), *landed.tables)),
        declared={name: table.to_dict() for name, table in book.tables.items()},
        schema=None if flow.schema is None else schema.to_dict(),
        state=_kept(state),
    )
    info = ExtractInfo(
        load_id=package.load_id,
        tables=extracted.tables,
        seconds=time.monotonic() - started,
        resources={**rows, **landed.rows},
        put_aside=dict(aside.rows + landed.put_aside),
        metrics={node.name: node.metrics for node in _all(engine.roots) if node.metrics},
    )
    return Extraction(info=info, extracted=extracted, state_changed=extracted.state != before)


def _write(engine: Engine, book: TableBook, writers: Writers, aside: Aside) -> dict[str, int]:
    """Write what arrives; gives the rows of each resource."""
    rows: Counter[str] = Counter({node.name: 0 for node in _all(engine.roots) if node.wanted})
    with closing(engine.arrivals()) as arrivals:
        for node, item, mark in arrivals:
            known = book.route(node.stream) if mark is None else None
            routes = [(known, item)] if known else node.run(book.routes, node.stream, item, mark)
            for route, part in routes:
                if route.is_wanted:
                    taken = _write_part(node, route, part, writers, aside, rows[node.name])
                    rows[node.name] += taken
    return dict(rows)


def _write_part(node: Node, route: Route, part: Any, writers: Writers, aside: Aside, first: int) -> int:
    writer: TableWriter | None = None
    number = first
    for page in _pages(node, part):
        for row in page:
            if writer is None:
                writer = writers.table(route.table, resource=route.resource)
            try:
                text = encode(row)
            except _REFUSED as error:
                aside.put(row, error, route=route, number=number)
            else:
                writers.write(writer, text)
            number += 1
    return number - first


def _pages(node: Node, part: Any) -> Iterable[list[Any]]:
    if isinstance(part, list):
        return (part,)
    if isinstance(part, dict):
        return ([part],)
    frames = node.run(pages_of, part)
    return ([part],) if frames is None else frames


def _table(writer: TableWriter, book: TableBook) -> ExtractedTable:
    parts = writer.parts
    return ExtractedTable(
        table=writer.table,
        resource=writer.resource,
        write_disposition=_disposition(book, writer.table),
        folder=writer.folder,
        rows=parts.rows,
        bytes=parts.bytes,
        files=parts.files,
    )


def _disposition(book: TableBook, table: str) -> str:
    declared = book.tables.get(table)
    return (declared.write_disposition if declared else None) or "append"


def _forget_replaced(flow: Flow, state: dict[str, Any], name: str) -> None:
    """A resource that replaces its table begins anew: what it remembered goes."""
    resources = state.get(_SOURCES, {}).get(name, {}).get(_RESOURCES, {})
    for stream in flow.streams:
        if stream.hints.disposition == "replace":
            resources.pop(stream.name, None)


def _kept(state: dict[str, Any]) -> dict[str, Any]:
    """A copy of what sources remember, in typed JSON, without states that hold nothing.

    Asking for a state is no change of it.
    """
    kept: dict[str, Any] = {}
    for name, source in state.get(_SOURCES, {}).items():
        resources = {key: value for key, value in source.get(_RESOURCES, {}).items() if value}
        rest = {key: value for key, value in source.items() if key != _RESOURCES}
        whole = {**rest, _RESOURCES: resources} if resources else rest
        if whole:
            kept[name] = whole
    copy: dict[str, Any] = to_typed(kept)
    return copy


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.children)
