"""Rows that nothing could be made of are kept, with the reason, beside the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.known import with_root
from penstock.normalize.stored import RAW, Dataset, Leaf, Object
from penstock.package.sql import literal
from penstock.schema import decide
from penstock.schema.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package.extracted import ExtractedTable
    from penstock.package.picking import Stored
    from penstock.schema import Decision, StoredSchema
    from penstock.schema.terms import Terms
    from penstock.schema.types import DataType

TABLE: Final = "_dlt_quarantine"
_COLUMNS: Final[Mapping[str, tuple[Stored, DataType]]] = {
    "resource_name": ("text", "text"),
    "table_name": ("text", "text"),
    "path": ("text", "text"),
    "rule": ("text", "text"),
    "item": ("bigint", "bigint"),
    "reason": ("text", "text"),
    "raw": ("text", "text"),
}
_REASON: Final = "it cannot be read, or holds a value that its column does not take"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """The table of rows put aside: what is decided about it, and how its rows come out of those left over."""

    table: str
    decision: Decision
    dataset: Dataset
    select: tuple[str, ...]


def quarantined(
    stored: StoredSchema, table: ExtractedTable, terms: Terms, extras: Mapping[str, Any]
) -> Aside:
    """Say where rows of a table go that are left over in the column `raw` of its nested dataset."""
    known = with_root(stored, TABLE, replace(table, write_disposition="append"), extras)
    leaves = {key: (key, Leaf(stored=how, forms=frozenset())) for key, (how, _) in _COLUMNS.items()}
    evidence = [Evidence(path=(), type="object")]
    evidence += [
        Evidence(path=(key,), type=kind, first=(0, number))
        for number, (key, (_, kind)) in enumerate(_COLUMNS.items(), 1)
    ]
    row = ", ".join(
        (
            f"'resource_name', {literal(table.resource)}",
            f"'table_name', {literal(table.table)}",
            "'path', raw.path",
            "'rule', raw.rule",
            "'item', raw.position",
            f"'reason', coalesce(raw.reason, {literal(_REASON)})",
            "'raw', raw.text",
        )
    )
    return Aside(
        table=TABLE,
        decision=decide(known, TABLE, evidence, terms),
        dataset=Dataset(Object(fields=leaves)),
        select=(f"CAST(NULL AS {RAW}) AS raw", f"named_struct({row}) AS row"),
    )
