"""A package while rows are written into it."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import orjson

from penstock.extract.aside import Aside
from penstock.extract.encode import encode
from penstock.extract.landing import Landing
from penstock.extract.writers import Writers
from penstock.interfaces.frames import frame_kind
from penstock.package.extracted import ExtractedTable
from penstock.package.quarantine import TABLE as ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from penstock.extract.landing import Landed
    from penstock.extract.nodes import Node
    from penstock.extract.plan import Rotation, Workload
    from penstock.extract.tables import Route, TableBook
    from penstock.extract.writers import TableWriter
    from penstock.interfaces.frames import FrameKind
    from penstock.interfaces.landing import Sender
    from penstock.package import FileStorage

    InThread = Callable[[Node, Callable[[], Landed], Callable[[Landed], None]], None]

_REFUSED = (orjson.JSONEncodeError, TypeError, ValueError, RecursionError)


class Filling:
    """Takes items, finds their tables and writes their rows. Make one with `Filling.of`."""

    def __init__(
        self, writers: Writers, book: TableBook, aside: Aside, landing: Landing, in_thread: InThread | None
    ) -> None:
        self._writers, self._book, self._aside, self._landing = writers, book, aside, landing
        self._in_thread = in_thread
        self.rows: Counter[str] = Counter()
        """The rows of each resource so far."""

    @classmethod
    @contextmanager
    def of(
        cls,
        store: FileStorage,
        book: TableBook,
        *,
        rotation: Rotation,
        workload: Workload,
        attempt: str | None = None,
        send: Sender | None = None,
        in_thread: InThread | None = None,
    ) -> Iterator[Self]:
        """For the time of a block; at its end all files are complete. With `send` a session writes them.

        `in_thread` does what Spark is waited for.
        """
        apart = workload.on_error == "continue"
        with Writers(store, rotation, apart=apart, attempt=attempt, send=send) as writers:
            aside = Aside(writers, on_bad_row=workload.on_bad_row)
            yield cls(writers, book, aside, Landing(writers, aside), in_thread)

    @property
    def put_aside(self) -> dict[str, int]:
        """How many rows of which resource could not be written."""
        return dict(self._aside.rows)

    def take(self, node: Node, item: Any, mark: Any) -> None:
        """Write an item that has arrived."""
        known = self._book.route(node.stream) if mark is None else None
        routes = [(known, item)] if known else node.run(self._book.routes, node.stream, item, mark)
        for route, part in routes:
            if route.is_wanted:
                self._write(node, route, part)

    def drop(self, resources: Iterable[str]) -> None:
        """Leave out what resources wrote that came to no good end."""
        for resource in resources:
            self._writers.drop(resource)
            self.rows.pop(resource, None)
            self._aside.rows.pop(resource, None)

    def tables(self) -> tuple[ExtractedTable, ...]:
        """What was written, table by table; complete once the block is left."""
        by_folder: dict[str, list[TableWriter]] = {}
        for writer in self._writers.all:
            by_folder.setdefault(writer.folder, []).append(writer)
        return tuple(self._table(writers) for writers in by_folder.values())

    def _write(self, node: Node, route: Route, part: Any) -> None:
        page = part if isinstance(part, list) else (part,)
        if page and frame_kind(page[0]) is not None:
            self._land(node, route, page)
        else:
            self._write_rows(node, route, page)

    def _land(self, node: Node, route: Route, frames: Iterable[Any]) -> None:
        for frame in frames:
            kind = frame_kind(frame)
            if kind is None:
                self._write_rows(node, route, (frame,))
            else:
                self._put(node, frame, kind, route)

    def _put(self, node: Node, frame: Any, kind: FrameKind, route: Route) -> None:
        if kind not in {"spark", "sifted", "relation"}:
            self.rows[node.name] += node.run(self._landing.put, frame, kind, route)
            return
        landed = self._landing.begin(frame, kind, route, node.frame_hook)

        def done(parts: Landed) -> None:
            self.rows[node.name] += self._landing.take(parts, route)

        if self._in_thread is None:
            done(node.run(landed))
        else:
            self._in_thread(node, landed, done)

    def _write_rows(self, node: Node, route: Route, page: Iterable[Any]) -> None:
        writer: TableWriter | None = None
        number = first = self.rows[node.name]
        for row in page:
            if writer is None:
                writer = self._writers.table(route.table, resource=route.resource)
            try:
                text = encode(row)
            except _REFUSED as error:
                self._aside.put(row, error, route=route, number=number)
            except Exception as error:  # a class of a user raises what it likes while it is written
                raise node.failure(error, node.taken)  # noqa: B904 - the cause is chained already
            else:
                self._writers.write(writer, text)
            number += 1
        self.rows[node.name] += number - first

    def _table(self, writers: Collection[TableWriter]) -> ExtractedTable:
        first = next(iter(writers))
        declared = self._book.tables.get(first.table)
        return ExtractedTable(
            table=first.table,
            resource=ASIDE if first.table == ASIDE else first.resource,
            write_disposition=(declared.write_disposition if declared else None) or "append",
            folder=first.folder,
            rows=sum(writer.parts.rows for writer in writers),
            bytes=sum(writer.parts.bytes for writer in writers),
            files=sum(writer.parts.files for writer in writers),
            data_format="rows" if first.parts.columns is None else "typed",
            columns=first.parts.columns,
        )
