"""Refresh: the tables that a package drops or truncates, and the schema without them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.interfaces import Refresh
from penstock.package.extract_manifest import ExtractedTable
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces import Flow
    from penstock.package.extract_manifest import ExtractManifest
    from penstock.schema import NamingConvention, StoredSchema


@dataclass(slots=True)
class RefreshTracker:
    """The resources refreshed in one run: a flow must not undo an earlier one with the same schema."""

    _refreshed: dict[str, set[str]] = field(default_factory=dict)

    def refresh_for(self, flow: Flow, schema_name: str) -> Refresh | None:
        """Return the refresh of a flow; None where it has none, or an earlier flow had the same."""
        if flow.refresh is None:
            return None
        resources = [stream.name for stream in flow.streams if stream.selected]
        earlier = self._refreshed.get(schema_name)
        if flow.refresh == "drop_sources" and earlier is not None:
            return None
        new = [name for name in dict.fromkeys(resources) if name not in (earlier or ())]
        self._refreshed.setdefault(schema_name, set()).update(new)
        if not new and flow.refresh != "drop_sources":
            return None
        return Refresh(mode=flow.refresh, resources=tuple(new))


def dropped_tables(schema: Schema, extracted: ExtractManifest) -> dict[str, Mapping[str, Any]]:
    """Return the tables that the load of a package drops, with their present columns."""
    names = _refreshed_tables(schema, extracted, drops=True)
    return {name: dict(schema.tables[name].to_dict()) for name in names}


def truncated_tables(schema: Schema, extracted: ExtractManifest) -> tuple[str, ...]:
    """Return the tables that the load of a package truncates."""
    return _refreshed_tables(schema, extracted, drops=False)


def _refreshed_tables(schema: Schema, extracted: ExtractManifest, *, drops: bool) -> tuple[str, ...]:
    """Return the refreshed tables that exist: those that ever received a row."""
    refresh = extracted.refresh
    if refresh is None or refresh.drops_tables is not drops:
        return ()
    return tuple(name for name in refresh.affected_tables(schema.tables) if schema.tables[name].has_seen_data)


def tables_truncated_without_rows(
    schema: Schema, extracted: ExtractManifest, naming: NamingConvention
) -> tuple[ExtractedTable, ...]:
    """Return the truncated root tables without new rows; nested tables follow their root."""
    # A frame without rows is listed too, and is not read; a replace without rows truncates its table itself.
    written = {
        naming.normalize_tables_path(table.table)
        for table in extracted.tables
        if table.rows or table.truncates_table
    }
    roots = [schema.tables[name] for name in truncated_tables(schema, extracted) if name not in written]
    return tuple(
        ExtractedTable(
            table=table.name,
            resource=table.resource or table.name,
            write_disposition=table.write_disposition or "append",
            folder=f"data/truncated/{number:05d}",
            rows=0,
            bytes=0,
            files=0,
        )
        for number, table in enumerate(roots)
        if not table.is_nested
    )


def without_dropped_tables(schema: Schema, refresh: Refresh | None) -> Schema:
    """Return the schema without the tables that are dropped: they are inferred again."""
    names = refresh.affected_tables(schema.tables) if refresh is not None and refresh.drops_tables else ()
    if not names:
        return schema
    remaining = schema.clone()
    remaining.drop_tables(names)
    return remaining


def recreated_schema(schema: Schema, source_schema: StoredSchema) -> Schema:
    """Return a schema with the tables of its source; system tables and import hash are those of `schema`."""
    recreated = schema.clone()
    other_tables = [table for table in schema.tables.values() if table.name not in source_schema.tables]
    imported_hash = schema.stored.imported_version_hash
    recreated.update(replace(source_schema.with_tables(other_tables), imported_version_hash=imported_hash))
    return recreated


def without_history(schema: Schema) -> Schema:
    """Return the schema without the hashes of its earlier versions."""
    return Schema.from_stored(replace(schema.stored, previous_hashes=()))
