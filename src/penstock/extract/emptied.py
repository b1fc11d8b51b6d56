"""Tables that are left without a row: a resource that replaces them brought none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.extract_manifest import ExtractedTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from penstock.interfaces.source import Stream
    from penstock.schema import Table


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
