"""Which tables begin anew with a package, and what the schema is before them."""

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
    """What has begun anew in one run: of two flows with one schema, the second must not undo the first."""

    _done: dict[str, set[str]] = field(default_factory=dict)

    def refresh_for(self, flow: Flow, schema_name: str) -> Refresh | None:
        """What begins anew with a flow; None where nothing does, or did so already."""
        if flow.refresh is None:
            return None
        resources = [stream.name for stream in flow.streams if stream.selected]
        known = self._done.get(schema_name)
        if flow.refresh == "drop_sources" and known is not None:
            return None
        left = [name for name in dict.fromkeys(resources) if name not in (known or ())]
        self._done.setdefault(schema_name, set()).update(left)
        is_of_all = flow.refresh == "drop_sources"
        return Refresh(mode=flow.refresh, resources=tuple(left)) if left or is_of_all else None


def dropped_tables(schema: Schema, extracted: ExtractManifest) -> dict[str, Mapping[str, Any]]:
    """The tables that go when a package is loaded, as they are."""
    names = _refreshed_tables(schema, extracted, drops=True)
    return {name: dict(schema.tables[name].to_dict()) for name in names}


def truncated_tables(schema: Schema, extracted: ExtractManifest) -> tuple[str, ...]:
    """The tables whose rows go when a package is loaded."""
    return _refreshed_tables(schema, extracted, drops=False)


def _refreshed_tables(schema: Schema, extracted: ExtractManifest, *, drops: bool) -> tuple[str, ...]:
    """Tables that begin anew and are there: those that ever got a row."""
    refresh = extracted.refresh
    if refresh is None or refresh.drops_tables is not drops:
        return ()
    return tuple(name for name in refresh.affected_tables(schema.tables) if schema.tables[name].has_seen_data)


def tables_truncated_without_rows(
    schema: Schema, extracted: ExtractManifest, naming: NamingConvention
) -> tuple[ExtractedTable, ...]:
    """Root tables whose rows go and to which the package brings none; nested ones go with their root."""
    # A frame without rows is there too, and nobody reads it; a replace without rows empties its table itself.
    brought = {
        naming.normalize_tables_path(table.table)
        for table in extracted.tables
        if table.rows or table.truncates_table
    }
    roots = [schema.tables[name] for name in truncated_tables(schema, extracted) if name not in brought]
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
    """The schema without the tables that go: what comes is learned anew."""
    names = refresh.affected_tables(schema.tables) if refresh is not None and refresh.drops_tables else ()
    if not names:
        return schema
    left = schema.clone()
    left.drop_tables(names)
    return left


def recreated_schema(schema: Schema, source_schema: StoredSchema) -> Schema:
    """A schema that begins with what its source brings; system tables stay, and what a file was taken for."""
    taken = schema.clone()
    kept = [table for table in schema.tables.values() if table.name not in source_schema.tables]
    of_file = schema.stored.imported_version_hash
    taken.update(replace(source_schema.with_tables(kept), imported_version_hash=of_file))
    return taken


def without_history(schema: Schema) -> Schema:
    """The same schema, which came of no other."""
    return Schema.from_stored(replace(schema.stored, previous_hashes=()))
