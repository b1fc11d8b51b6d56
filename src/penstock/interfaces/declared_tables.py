"""Conversion of hints to table schemas with their final names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.hints import TableHints, key_columns
from penstock.schema import Column, Table, plain_name
from penstock.schema.column_names import EMPTY_KEY_NAME
from penstock.schema.defaults import ID_COLUMN
from penstock.schema.frozen_map import FrozenMap, thaw
from penstock.schema.naming import nested_table_name, safe_table_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.schema import NamingConvention

VALID_FROM_COLUMN: Final = "_dlt_valid_from"
VALID_TO_COLUMN: Final = "_dlt_valid_to"

_COPIED_HINTS: Final = ("schema_contract", "table_format", "file_format")
# Options of a merge, by the table keys that store them.
_MERGE_OPTIONS: Final = {
    "strategy": "x-merge-strategy",
    "deduplicated": "x-stage-data-deduplicated",
    "boundary_timestamp": "x-boundary-timestamp",
    "source_filter": "x-merge-source-filter",
    "destination_scope": "x-merge-destination-scope",
    "skip_unchanged_rows": "x-merge-skip-unchanged-rows",
}


def declared_tables(
    hints: TableHints, *, resource: str, naming: NamingConvention, table_name: str | None = None
) -> tuple[Table, ...]:
    """Return the tables that a resource declares, root first; `hints` has no functions.

    A nested table with its own key is a root table.

    >>> from penstock.interfaces.hints import make_hints
    >>> from penstock.schema import naming_convention
    >>> (table,) = declared_tables(make_hints(primary_key="Id"), resource="Items", naming=naming_convention())
    >>> table.name, table.resource, table.columns_with("primary_key")
    ('items', 'Items', ('id',))
    """
    raw = table_name or str(hints.table_name or resource)
    name = _table_name(raw, naming) or _table_name(resource, naming) or EMPTY_KEY_NAME
    root = _table(hints, name=name, naming=naming)
    if hints.parent_table_name:
        root = replace(root, parent=_table_name(str(hints.parent_table_name), naming))
    else:
        root = replace(root, resource=resource).with_root_defaults()
    return (root, *_nested_tables(root, hints.nested_hints or {}, resource=resource, naming=naming))


def _table_name(raw: str, naming: NamingConvention) -> str:
    return safe_table_name(naming.normalize_tables_path(raw), max_length=naming.max_length)


def _nested_tables(
    root: Table, nested: Mapping[Any, TableHints], *, resource: str, naming: NamingConvention
) -> tuple[Table, ...]:
    tables: dict[str, Table] = {}
    for path, hints in nested.items():
        parts = [plain_name(part, naming) for part in path]
        table = _table(hints, name=nested_table_name(naming, root.name, *parts), naming=naming)
        if hints.primary_key or hints.merge_key:
            tables[table.name] = replace(table, resource=resource).with_root_defaults()
            continue
        above = root.name
        for depth in range(1, len(parts)):
            name = nested_table_name(naming, root.name, *parts[:depth])
            tables.setdefault(name, Table(name=name, parent=above))
            above = name
        tables[table.name] = replace(table, parent=above)
    return tuple(tables.values())


def _table(hints: TableHints, *, name: str, naming: NamingConvention) -> Table:
    disposition, options = _disposition(hints.write_disposition)
    columns = [_normalized_column(column, naming) for column in _columns(hints)]
    table = Table(
        name=name,
        columns={column.name: column for column in columns},
        write_disposition=disposition,
        extras={key: value for key in _COPIED_HINTS if (value := getattr(hints, key)) is not None},
    ).with_extras(**_extras(hints, naming))
    return _with_merge_options(table, options, naming)


def _columns(hints: TableHints) -> list[Column]:
    columns = {name: Column.from_dict(hint_values) for name, hint_values in (hints.columns or {}).items()}
    for hint in ("primary_key", "merge_key"):
        for name in key_columns(getattr(hints, hint) or ()):
            column = columns.get(name, Column(name=name)).with_hints(**{hint: True})
            columns[name] = column if column.nullable is not None else replace(column, nullable=False)
    cursor = hints.incremental.get_cursor_column_name() if hints.incremental else None
    if cursor:
        columns[cursor] = columns.get(cursor, Column(name=cursor)).with_hints(incremental=True)
    return list(columns.values())


def _normalized_column(column: Column, naming: NamingConvention) -> Column:
    return column.with_name(plain_name(column.name, naming))


def _disposition(write_disposition: Any) -> tuple[Any, Mapping[str, Any]]:
    if write_disposition is None or isinstance(write_disposition, str):
        return write_disposition, FrozenMap()
    return write_disposition["disposition"], write_disposition


def _extras(hints: TableHints, naming: NamingConvention) -> dict[str, Any]:
    extras: dict[str, Any] = dict(hints.additional_table_hints or {})
    if hints.references:
        extras["references"] = [_reference(reference, naming) for reference in hints.references]
    if hints.nested is not None:
        extras["x-nested"] = hints.nested
    if hints.max_table_nesting is not None:
        extras["x-normalizer"] = {"max_nesting": hints.max_table_nesting}
    return extras


def _reference(reference: Mapping[str, Any], naming: NamingConvention) -> dict[str, Any]:
    def names(columns: Sequence[str]) -> list[str]:
        return [naming.normalize_path(column) for column in columns]

    return {
        **thaw(reference),
        "columns": names(reference["columns"]),
        "referenced_table": naming.normalize_tables_path(reference["referenced_table"]),
        "referenced_columns": names(reference["referenced_columns"]),
    }


def _with_merge_options(table: Table, options: Mapping[str, Any], naming: NamingConvention) -> Table:
    if table.write_disposition != "merge":
        return table
    options_by_key = {key: options[option] for option, key in _MERGE_OPTIONS.items() if option in options}
    merged = table.with_extras(**options_by_key)
    strategy, version = options.get("strategy"), options.get("row_version_column_name")
    if strategy == "scd2":
        return _with_validity_columns(merged, options, naming)
    return _with_row_version(merged, naming.normalize_path(version)) if version else merged


def _with_validity_columns(table: Table, options: Mapping[str, Any], naming: NamingConvention) -> Table:
    """Add the validity columns of scd2; the id of a row is the hash of its content."""
    since, until = options.get("validity_column_names") or (VALID_FROM_COLUMN, VALID_TO_COLUMN)
    active = options.get("active_record_timestamp")
    valid = (
        (since, {"x-valid-from": True}),
        (until, {"x-valid-to": True, "x-active-record-timestamp": active}),
    )
    columns = [
        Column(name=naming.normalize_path(name), data_type="timestamp", nullable=True, hints=FrozenMap(hints))
        for name, hints in valid
    ]
    version = naming.normalize_path(options.get("row_version_column_name") or ID_COLUMN)
    return _with_row_version(table.with_columns(columns), version, unique=False, row_key=False)


def _with_row_version(table: Table, name: str, **hints: Any) -> Table:
    before = table.columns.get(name, Column(name=name, nullable=False))
    return table.with_columns([before.with_hints(**{"x-row-version": True}, **hints)])
