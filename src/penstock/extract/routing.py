"""Which table an item belongs to, and what is known of the tables so far."""

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
    """Where rows go: the table by its final name, and the resource that they are of."""

    table: str
    resource: str
    is_selected: bool


class TableRouter:
    """The tables that the resources of one flow declare while they are read.

    `dispositions` are those that the destination has. Where it has `formats`, a table that is merged must
    name one of them, unless it did so in a load before: `known` are the tables of the schema.
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
        """The one table of all items of a stream that carry no mark; None where it takes the item to know."""
        speaker = self._stream_routers.get(stream)
        return speaker.static_route() if speaker else None

    def routes(self, stream: Stream, item: Any, mark: Any) -> list[tuple[Route, Any]]:
        """The item with its table; a page is taken apart where each of its rows may name another table."""
        speaker = self._stream_routers.get(stream)
        if speaker is None:
            speaker = self._stream_routers[stream] = _StreamRouter(self, stream)
        name = None if mark is None else speaker.apply_mark(mark)
        if item is None:
            speaker.declare(name)
            return []
        if isinstance(item, list) and item and speaker.is_dynamic(name):
            return [(speaker.route(row, name), row) for row in item]
        return [(speaker.route(item, name), item)]

    def declare(self, tables: tuple[Table, ...], *, resource: str) -> None:
        """Take over what a resource says of its tables.

        What it says later replaces what it said before. Of a table that another resource has declared it
        can say what that one has not.
        """
        for table in tables:
            known = self.tables.get(table.name)
            if known == table:
                continue
            self._check(table)
            owner = self._owners.setdefault(table.name, resource)
            if known is None:
                self.tables[table.name] = table
            else:
                joined = (
                    known.with_hints_of(table) if owner == resource else _with_added_columns(known, table)
                )
                self.tables[table.name] = joined

    def tables_without(
        self, resources: Collection[str], *, written_tables: Collection[str]
    ) -> dict[str, Table]:
        """The tables that others than these resources declared, and those that have rows all the same."""
        return {
            name: table
            for name, table in self.tables.items()
            if self._owners[name] not in resources or name in written_tables
        }

    def _check(self, table: Table) -> None:
        said = table.write_disposition
        if self._has_commit_interval and (
            said == "replace" or table.extras.get("x-merge-strategy") == "scd2"
        ):
            raise UsageError(
                f"table {table.name} is to be written as a whole, and commit_interval cuts it into loads",
                hint="leave commit_interval out, or use append, or merge with delete-insert or upsert",
                write_disposition=said,
            )
        self._check_format(table)
        if self._dispositions is None or said is None or said in self._dispositions | {"skip"}:
            return
        raise LoadClientUnsupportedWriteDisposition(
            write_disposition=said, supported=tuple(sorted(self._dispositions)), table=table.name
        )

    def _check_format(self, table: Table) -> None:
        if not self._table_formats or table.is_nested or table.write_disposition != "merge":
            return
        before = self._schema_tables.get(table.name)
        said = table.extras.get("table_format") or (before and before.extras.get("table_format"))
        if said not in self._table_formats:
            what = f"in the format {said!r}" if said else "as plain files, without a table format"
            raise UsageError(
                f"table {table.name} is to be merged {what}, which the destination cannot",
                hint="say table_format= of the resource, or of run():"
                f" {' or '.join(sorted(self._table_formats))}; or use append or replace",
                table_format=said,
                write_disposition=table.write_disposition,
            )


def _with_added_columns(table: Table, other: Table) -> Table:
    """A table with the columns that another resource adds; a key is that of the first one who has one."""
    spoken = tuple(hint for hint in sorted(COMPOUND_HINTS) if table.columns_with(hint))
    added = [
        column.without_hints(*spoken)
        for name, column in other.columns.items()
        if name not in table.columns and (column.is_complete or not any(map(column.has, spoken)))
    ]
    return table.with_columns(added)


class _StreamRouter:
    """What one resource says of its tables: hints may change with each item."""

    def __init__(self, router: TableRouter, stream: Stream) -> None:
        self._router, self._stream = router, stream
        self._hints, self._variants = stream.hints, dict(stream.variants)
        # Templates by the name that a mark gives, and routes of those that are the same for every item.
        self._templates: dict[str | None, tuple[TableHints, tuple[str, ...]]] = {}
        self._static_routes: dict[str | None, Route] = {}

    def static_route(self) -> Route | None:
        """The route of items without a mark, once one of them has come."""
        return self._static_routes.get(None)

    def apply_mark(self, mark: Mark) -> str | None:
        """Take a mark to heart; gives the table that it names for its item."""
        if isinstance(mark, TableNameMark):
            return mark.table_name
        said, name = mark.hints, mark.hints.table_name
        self._templates.clear()
        self._static_routes.clear()
        if not mark.variant or not isinstance(name, str):
            self._hints = self._hints.merged_with(said)
            return None
        self._variants[name] = self._variants.get(name, replace(self._hints, table_name=name)).merged_with(
            said
        )
        return name

    def is_dynamic(self, name: str | None) -> bool:
        """Whether it takes the row to know the table and its hints."""
        return bool(self._template(name)[1])

    def route(self, item: Any, name: str | None) -> Route:
        """The table of an item; `name` is that of its mark."""
        found = self._static_routes.get(name)
        if found is not None:
            return found
        said, dynamic = self._template(name)
        if dynamic == _ONLY_TABLE_NAME and callable(said.table_name):
            # A row without a name for its table goes to that of the resource.
            return self.route(item, str(said.table_name(item) or self._stream.name))
        if dynamic:
            return self._declare_route(said.for_item(item), name)
        found = self._static_routes[name] = self._declare_route(said, name)
        return found

    def declare(self, name: str | None) -> None:
        """Declare the tables without any row, where no row is needed to know them."""
        if not self.is_dynamic(name):
            self.route(None, name)

    def _template(self, name: str | None) -> tuple[TableHints, tuple[str, ...]]:
        found = self._templates.get(name)
        if found is None:
            hints = self._hints if name is None else replace(self._hints, table_name=name)
            hints = hints if name is None else self._variants.get(name, hints)
            found = self._templates[name] = hints, hints.dynamic_names
        return found

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
