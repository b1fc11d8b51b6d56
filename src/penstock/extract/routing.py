"""The tables of items, and the tables that resources declare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import LoadClientUnsupportedWriteDisposition, UsageError
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.items import TableNameMark
from penstock.schema import COMPOUND_HINTS
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from penstock.interfaces.hints import TableHints
    from penstock.interfaces.items import Mark
    from penstock.interfaces.source import Stream
    from penstock.schema import NamingConvention, Table

_ONLY_TABLE_NAME = ("table_name",)


@dataclass(frozen=True, slots=True)
class Route:
    """The destination of rows: the table by its final name, and their resource."""

    table: str
    resource: str
    is_selected: bool


class TableRouter:
    """The tables that the resources of one flow declare while they are read.

    `dispositions` are supported by the destination. If `table_formats` is not empty, a merged table must
    name one of them, in this flow or in `schema_tables`.
    """

    def __init__(
        self,
        naming: NamingConvention,
        *,
        dispositions: frozenset[str] | None = None,
        table_formats: frozenset[str] = frozenset(),
        schema_tables: Mapping[str, Table] = FrozenMap[Any](),
        has_commit_interval: bool = False,
    ) -> None:
        self.naming = naming
        self.tables: dict[str, Table] = {}
        self._dispositions, self._has_commit_interval = dispositions, has_commit_interval
        self._table_formats, self._schema_tables = table_formats, schema_tables
        self._owners: dict[str, str] = {}
        self._stream_routers: dict[Stream, _StreamRouter] = {}

    def static_route(self, stream: Stream) -> Route | None:
        """Return the table of all unmarked items of a stream; None if it depends on the item."""
        stream_router = self._stream_routers.get(stream)
        return stream_router.static_route() if stream_router else None

    def routes(self, stream: Stream, item: Any, mark: Any) -> list[tuple[Route, Any]]:
        """Return the item with its table; a page is split into rows if each row may name another table."""
        stream_router = self._stream_routers.get(stream)
        if stream_router is None:
            stream_router = self._stream_routers[stream] = _StreamRouter(self, stream)
        name = None if mark is None else stream_router.apply_mark(mark)
        if item is None:
            stream_router.declare(name)
            return []
        if isinstance(item, list) and item and stream_router.is_dynamic(name):
            return [(stream_router.route(row, name), row) for row in item]
        return [(stream_router.route(item, name), item)]

    def declare(self, tables: tuple[Table, ...], *, resource: str) -> None:
        """Declare the tables of a resource.

        A later declaration of the same resource replaces an earlier one. A declaration of another resource
        only adds columns.
        """
        for table in tables:
            declared = self.tables.get(table.name)
            if declared == table:
                continue
            self._check(table)
            owner = self._owners.setdefault(table.name, resource)
            if declared is None:
                self.tables[table.name] = table
            elif owner == resource:
                self.tables[table.name] = declared.with_hints_of(table)
            else:
                self.tables[table.name] = _with_added_columns(declared, table)

    def tables_without(
        self, resources: Collection[str], *, written_tables: Collection[str]
    ) -> dict[str, Table]:
        """Return the tables that other resources declared, and those with rows."""
        return {
            name: table
            for name, table in self.tables.items()
            if self._owners[name] not in resources or name in written_tables
        }

    def _check(self, table: Table) -> None:
        disposition = table.write_disposition
        if self._has_commit_interval and (
            disposition == "replace" or table.extras.get("x-merge-strategy") == "scd2"
        ):
            raise UsageError(
                f"table {table.name} must be complete in one load, and commit_interval makes several",
                hint="remove commit_interval, or use append, or merge with delete-insert or upsert",
                write_disposition=disposition,
            )
        self._check_format(table)
        if self._dispositions is None or disposition is None or disposition in self._dispositions | {"skip"}:
            return
        raise LoadClientUnsupportedWriteDisposition(
            write_disposition=disposition, supported=tuple(sorted(self._dispositions)), table=table.name
        )

    def _check_format(self, table: Table) -> None:
        if not self._table_formats or table.is_nested or table.write_disposition != "merge":
            return
        stored = self._schema_tables.get(table.name)
        table_format = table.extras.get("table_format") or (stored and stored.extras.get("table_format"))
        if table_format not in self._table_formats:
            form = f"in the format {table_format!r}" if table_format else "as plain files"
            raise UsageError(
                f"the destination cannot merge table {table.name} {form}",
                hint="set table_format= of the resource or of run() to"
                f" {' or '.join(sorted(self._table_formats))}; or use append or replace",
                table_format=table_format,
                write_disposition=table.write_disposition,
            )


def _with_added_columns(table: Table, other: Table) -> Table:
    """Return a table with the columns that another resource adds; the first declared key is kept."""
    key_hints = tuple(hint for hint in sorted(COMPOUND_HINTS) if table.columns_with(hint))
    added = [
        column.without_hints(*key_hints)
        for name, column in other.columns.items()
        if name not in table.columns and (column.is_complete or not any(map(column.has, key_hints)))
    ]
    return table.with_columns(added)


class _StreamRouter:
    """The tables of one resource; its hints may change with each item."""

    def __init__(self, router: TableRouter, stream: Stream) -> None:
        self._router, self._stream = router, stream
        self._hints, self._variants = stream.hints, dict(stream.variants)
        # Hints and static routes by the table name of a mark; None for items without a mark.
        self._templates: dict[str | None, tuple[TableHints, tuple[str, ...]]] = {}
        self._static_routes: dict[str | None, Route] = {}

    def static_route(self) -> Route | None:
        """Return the route of items without a mark, once one was routed."""
        return self._static_routes.get(None)

    def apply_mark(self, mark: Mark) -> str | None:
        """Apply a mark; return the table that it names for its item."""
        if isinstance(mark, TableNameMark):
            return mark.table_name
        hints, name = mark.hints, mark.hints.table_name
        self._templates.clear()
        self._static_routes.clear()
        if not mark.variant or not isinstance(name, str):
            self._hints = self._hints.merged_with(hints)
            return None
        self._variants[name] = self._variants.get(name, replace(self._hints, table_name=name)).merged_with(
            hints
        )
        return name

    def is_dynamic(self, name: str | None) -> bool:
        """Return whether the table or its hints depend on the row."""
        return bool(self._template(name)[1])

    def route(self, item: Any, name: str | None) -> Route:
        """Return the route of an item; `name` is the table of its mark."""
        route = self._static_routes.get(name)
        if route is not None:
            return route
        hints, dynamic = self._template(name)
        if dynamic == _ONLY_TABLE_NAME and callable(hints.table_name):
            # A row without a table name goes to the table of the resource.
            return self.route(item, str(hints.table_name(item) or self._stream.name))
        if dynamic:
            return self._declare_route(hints.for_item(item), name)
        route = self._static_routes[name] = self._declare_route(hints, name)
        return route

    def declare(self, name: str | None) -> None:
        """Declare the tables without a row, if they do not depend on rows."""
        if not self.is_dynamic(name):
            self.route(None, name)

    def _template(self, name: str | None) -> tuple[TableHints, tuple[str, ...]]:
        template = self._templates.get(name)
        if template is None:
            hints = self._hints if name is None else replace(self._hints, table_name=name)
            hints = hints if name is None else self._variants.get(name, hints)
            template = self._templates[name] = hints, hints.dynamic_names
        return template

    def _declare_route(self, hints: TableHints, name: str | None) -> Route:
        stream = self._stream
        raw = str(hints.table_name or stream.name)
        tables = declared_tables(hints, resource=stream.name, naming=self._router.naming, table_name=raw)
        root = tables[0].with_extras(variant_name=name) if name in self._variants else tables[0]
        is_wanted = stream.tables is None or raw in stream.tables or root.name in stream.tables
        if is_wanted:
            self._router.declare((root, *tables[1:]), resource=stream.name)
        skipped = root.write_disposition == "skip"
        return Route(table=root.name, resource=stream.name, is_selected=is_wanted and not skipped)
