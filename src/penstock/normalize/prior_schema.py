"""What the schema knows of a package's tables before their rows are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from penstock.schema import Table
from penstock.schema.frozen_map import FrozenMap, thaw
from penstock.schema.inference_options import InferenceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
    from penstock.schema import NamingConvention, StoredSchema
    from penstock.schema.contract import ContractSettings
    from penstock.schema.types import DataType

MAX_NESTING: Final = 16
"""Objects and lists in one another beyond this are kept as JSON.

Spark looks for what expressions have in common in a time that doubles with each level: it runs out of memory.
"""


def inference_options(
    naming: NamingConvention,
    contract: Mapping[str, Any] | str | None = None,
    *,
    merge_strategy: str | None = None,
    can_alter: frozenset[tuple[DataType, DataType]] = frozenset(),
) -> InferenceOptions:
    """The terms on which rows are taken in; `contract` is that of the run.

    Where the destination `can_alter` types, columns become wider.
    """
    return InferenceOptions(
        naming=naming,
        contract=cast("ContractSettings | None", contract),
        max_nesting=MAX_NESTING,
        merge_strategy=merge_strategy,
        type_evolution="widen" if can_alter else "variant",
        can_alter=can_alter,
    )


def with_declared_tables(schema: StoredSchema, extracted: ExtractManifest) -> StoredSchema:
    """The schema with the tables that resources declare; what they say of a known table is merged into it."""
    changed: dict[str, Table] = {}
    for name, document in extracted.declared_tables.items():
        declared = Table.from_dict(cast("Mapping[str, Any]", thaw(document)), name=name)
        known = schema.tables.get(name)
        changed[name] = known.with_hints_of(declared) if known else declared
    return schema.with_tables(changed.values()) if changed else schema


def has_seen_data(schema: StoredSchema, name: str) -> bool:
    """Whether there is such a table, with rows or without."""
    known = schema.tables.get(name)
    return known is not None and known.has_seen_data


def with_root_table(
    schema: StoredSchema,
    name: str,
    table: ExtractedTable,
    extras: Mapping[str, Any],
    defaults: Mapping[str, Any] = FrozenMap[Any](),
) -> StoredSchema:
    """The schema with a root table of which at least its resource and its disposition are known.

    `extras` are said of every table, `defaults` of those that do not say it themselves.
    """
    known = schema.tables.get(name)
    unsaid = {key: value for key, value in defaults.items() if known is None or known.extras.get(key) is None}
    fresh = Table.from_dict(
        {
            "name": name,
            "resource": table.resource,
            "write_disposition": table.write_disposition,
            **extras,
            **unsaid,
        }
    )
    after = known.merged(fresh) if known else fresh
    return schema if after == known else schema.with_tables([after])
