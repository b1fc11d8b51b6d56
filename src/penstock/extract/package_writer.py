"""Writes the items of a flow into a package."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import orjson

from penstock.extract.encode import encode
from penstock.extract.frame_writer import FrameWriter
from penstock.extract.quarantine_writer import QuarantineWriter
from penstock.extract.table_writers import TableWriters
from penstock.interfaces.deletions import DeletedRows
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.items import EmptyTable
from penstock.package.extract_manifest import ExtractedTable
from penstock.package.quarantine import QUARANTINE_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from penstock.extract.frame_writer import WrittenFrame
    from penstock.extract.nodes import Node
    from penstock.extract.plan import Rotation, Workload
    from penstock.extract.routing import Route, TableRouter
    from penstock.extract.table_writers import PartFiles, TableWriter
    from penstock.interfaces.frame_engine import FrameEngine, RowSender
    from penstock.interfaces.frames import FrameKind
    from penstock.package import Package
    from penstock.package.extract_manifest import DataFormat

    WorkSubmitter = Callable[[Node, Callable[[], WrittenFrame], Callable[[WrittenFrame], None]], None]

_ENCODE_ERRORS = (orjson.JSONEncodeError, TypeError, ValueError, RecursionError)


class PackageWriter:
    """Routes items to their tables and writes their rows. Create one with `open`."""

    def __init__(
        self,
        writers: TableWriters,
        router: TableRouter,
        quarantine: QuarantineWriter,
        frame_writer: FrameWriter,
        submit: WorkSubmitter | None,
    ) -> None:
        self._writers, self._router, self._quarantine = writers, router, quarantine
        self._frame_writer, self._submit = frame_writer, submit
        self.rows: Counter[str] = Counter()
        """The rows of each resource so far."""
        self._empty_tables: dict[str, str] = {}
        """The resources of tables that are created without rows."""

    @classmethod
    @contextmanager
    def open(
        cls,
        package: Package,
        router: TableRouter,
        *,
        rotation: Rotation,
        workload: Workload,
        attempt: str | None = None,
        send: RowSender | None = None,
        frame_engine: FrameEngine | None = None,
        submit: WorkSubmitter | None = None,
    ) -> Iterator[Self]:
        """Open a writer for a block; at its end all files are complete. With `send` a session writes them.

        `submit` runs Spark jobs in threads.
        """
        per_resource = workload.on_error == "continue"
        with TableWriters(
            package.store, rotation, per_resource=per_resource, attempt=attempt, send=send
        ) as writers:
            quarantine = QuarantineWriter(writers, on_bad_row=workload.on_bad_row)
            frame_writer = FrameWriter(writers, quarantine, frame_engine, load_id=package.load_id)
            yield cls(writers, router, quarantine, frame_writer, submit)

    @property
    def quarantined_rows(self) -> dict[str, int]:
        """The rows of each resource that were quarantined."""
        return dict(self._quarantine.rows)

    def write_item(self, node: Node, item: Any, mark: Any) -> None:
        """Write an item."""
        static = self._router.static_route(node.stream) if mark is None else None
        routes = [(static, item)] if static else node.run(self._router.routes, node.stream, item, mark)
        for route, part in routes:
            if route.is_selected:
                self._write(node, route, part)

    def discard_resources(self, resources: Iterable[str]) -> None:
        """Discard everything written by failed resources."""
        for resource in resources:
            self._writers.discard(resource)
            self.rows.pop(resource, None)
            self._empty_tables = {
                table: name for table, name in self._empty_tables.items() if name != resource
            }
            self._quarantine.rows.pop(resource, None)

    def tables(self) -> tuple[ExtractedTable, ...]:
        """Return the written tables; complete once the block is left."""
        by_folder: dict[str, list[TableWriter]] = {}
        for writer in self._writers.all:
            by_folder.setdefault(writer.folder, []).append(writer)
        written = tuple(self._extracted_table(writers) for writers in by_folder.values())
        with_rows = {table.table for table in written}
        empty_tables = {
            name: self._empty_tables[name] for name in self._empty_tables if name not in with_rows
        }
        return written + tuple(
            ExtractedTable(
                table=table,
                resource=resource,
                write_disposition=self._disposition_of(table),
                folder=f"data/created/{number:05d}",
                rows=0,
                bytes=0,
                files=0,
                creates_table=True,
            )
            for number, (table, resource) in enumerate(empty_tables.items())
        )

    def _write(self, node: Node, route: Route, part: Any) -> None:
        if isinstance(part, EmptyTable):
            self._empty_tables[route.table] = route.resource
            return
        page = part if isinstance(part, list) else (part,)
        if page and frame_kind(page[0]) is not None:
            self._write_frames(node, route, page)
        else:
            self._write_rows(node, route, page)

    def _write_frames(self, node: Node, route: Route, frames: Iterable[Any]) -> None:
        for frame in frames:
            kind = frame_kind(frame)
            if kind is None:
                self._write_rows(node, route, (frame,))
            else:
                self._write_frame(node, frame, kind, route)

    def _write_frame(self, node: Node, frame: Any, kind: FrameKind, route: Route) -> None:
        if isinstance(frame, DeletedRows) and not frame.apply_to(self._router.tables[route.table]):
            return
        if kind not in {"spark", "sifted", "deleted", "relation"}:
            self.rows[node.name] += node.run(self._frame_writer.write, frame, kind, route)
            return
        write = self._frame_writer.prepare_spark_write(frame, kind, route, node.frame_hook(kind))

        def on_done(written: WrittenFrame) -> None:
            self.rows[node.name] += self._frame_writer.add_written(written, route)

        if self._submit is None:
            on_done(node.run(write))
        else:
            self._submit(node, write, on_done)

    def _write_rows(self, node: Node, route: Route, page: Iterable[Any]) -> None:
        writer: TableWriter | None = None
        number = first = self.rows[node.name]
        for row in page:
            if writer is None:
                writer = self._writers.writer_for(route.table, resource=route.resource)
            try:
                text = encode(row)
            except _ENCODE_ERRORS as error:
                self._quarantine.write(row, error, route=route, number=number)
            except Exception as error:  # a user's class may raise anything when it is encoded
                raise node.resource_error(error, node.items_read)  # noqa: B904 - the cause is chained already
            else:
                self._writers.write(writer, text)
            number += 1
        self.rows[node.name] += number - first

    def _extracted_table(self, writers: Collection[TableWriter]) -> ExtractedTable:
        first = next(iter(writers))
        return ExtractedTable(
            table=first.table,
            resource=QUARANTINE_TABLE if first.table == QUARANTINE_TABLE else first.resource,
            write_disposition=self._disposition_of(first.table),
            folder=first.folder,
            rows=sum(writer.parts.rows for writer in writers),
            bytes=sum(writer.parts.bytes for writer in writers),
            files=sum(writer.parts.files for writer in writers),
            data_format=_data_format(first.parts),
            columns=first.parts.columns,
        )

    def _disposition_of(self, table: str) -> str:
        declared = self._router.tables.get(table)
        return (declared.write_disposition if declared else None) or "append"


def _data_format(parts: PartFiles) -> DataFormat:
    if parts.columns is None:
        return "rows"
    return "flat" if parts.has_system_columns else "typed"
