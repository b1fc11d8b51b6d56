"""The schema before the rows of a package: declared tables, root tables, and inference options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.interfaces.table_strategies import merge_strategy
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.package.replayed_rows import ORIGIN_KEY
from penstock.schema import Table
from penstock.schema.defaults import LOAD_ID_COLUMN
from penstock.schema.frozen_map import FrozenMap, thaw
from penstock.schema.inference_options import InferenceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
    from penstock.schema import NamingConvention, StoredSchema
    from penstock.schema.contract import ContractSettings
    from penstock.schema.types import DataType

MAX_NESTING: Final = 16
"""Objects and lists that are nested deeper are kept as JSON.

Spark's search for common subexpressions takes time and memory that double with each level.
"""


def inference_options(
    naming: NamingConvention,
    contract: Mapping[str, Any] | str | None = None,
    *,
    capabilities: DestinationCapabilitiesContext | None = None,
    can_alter: frozenset[tuple[DataType, DataType]] = frozenset(),
) -> InferenceOptions:
    """Return the inference options of a run; `contract` is the contract of the run.

    If the destination `can_alter` types, columns are widened.
    """
    options = InferenceOptions(
        naming=naming,
        contract=cast("ContractSettings | None", contract),
        max_nesting=MAX_NESTING,
        type_evolution="widen" if can_alter else "variant",
        can_alter=can_alter,
    )
    if capabilities is None:
        return options
    is_folded = naming.is_case_sensitive and not capabilities.generates_case_sensitive_identifiers()
    return replace(
        options,
        max_table_nesting=capabilities.max_table_nesting,
        type_limits=capabilities.type_limits,
        fold_identifier=capabilities.folded_identifier if is_folded else str,
    )


def options_of_table(
    options: InferenceOptions, capabilities: DestinationCapabilitiesContext | None, table: Table
) -> InferenceOptions:
    """Return the options with the destination's merge strategy for a root table."""
    if capabilities is None:
        return options
    return replace(options, merge_strategy=merge_strategy(capabilities, table.to_dict()))


def options_of_replay(options: InferenceOptions, table: str) -> InferenceOptions:
    """Return the options for a table of a replay.

    Rows that stay in the quarantine keep their load id, and the origins of replayed rows have no column.
    """
    if table == QUARANTINE_TABLE:
        return replace(options, own_columns=frozenset((LOAD_ID_COLUMN,)))
    return replace(options, ignored_keys=frozenset((ORIGIN_KEY,)))


def with_declared_tables(schema: StoredSchema, extracted: ExtractManifest) -> StoredSchema:
    """Return the schema with the tables that resources declare; hints of existing tables are merged."""
    changed: dict[str, Table] = {}
    for name, document in extracted.declared_tables.items():
        declared = Table.from_dict(cast("Mapping[str, Any]", thaw(document)), name=name)
        stored = schema.tables.get(name)
        changed[name] = stored.with_hints_of(declared) if stored else declared
    return schema.with_tables(changed.values()) if changed else schema


def has_seen_data(schema: StoredSchema, name: str) -> bool:
    """Return whether a load has written to the table, with or without rows."""
    table = schema.tables.get(name)
    return table is not None and table.has_seen_data


def with_root_table(
    schema: StoredSchema,
    name: str,
    table: ExtractedTable,
    extras: Mapping[str, Any],
    defaults: Mapping[str, Any] = FrozenMap[Any](),
) -> StoredSchema:
    """Return the schema with a root table that has the resource and the write disposition of `table`.

    `extras` are set on every table, `defaults` only where the table has no value.
    """
    stored = schema.tables.get(name)
    missing = {
        key: value for key, value in defaults.items() if stored is None or stored.extras.get(key) is None
    }
    incoming = Table.from_dict(
        {
            "name": name,
            "resource": table.resource,
            "write_disposition": table.write_disposition,
            **extras,
            **missing,
        }
    )
    merged = stored.merged(incoming) if stored else incoming
    return schema if merged == stored else schema.with_tables([merged])
