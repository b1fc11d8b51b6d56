"""Rows that are refused, or that nothing could be made of, are kept with the reason, beside the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.nested_layout import RAW_TYPE, Leaf, NestedLayout, Object
from penstock.normalize.prior_schema import with_root_table
from penstock.normalize.refusals import refused_nested_rows
from penstock.package.projection.explode import id_digest, is_excluded, level_elements
from penstock.package.quarantine import QUARANTINE_COLUMNS, QUARANTINE_TABLE, UNREADABLE_RULE
from penstock.package.sql import literal
from penstock.schema import decide
from penstock.schema.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.refusals import RefusedNestedRows
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.package.projection.typed_values import StorageForm
    from penstock.schema import Decision, StoredSchema
    from penstock.schema.inference_options import InferenceOptions

_STORAGE_FORMS: Final[Mapping[str, StorageForm]] = {"text": "text", "bigint": "bigint"}
_UNREADABLE_REASON: Final = "it cannot be read, or holds a value that its column does not take"
_NULL_RAW: Final = f"CAST(NULL AS {RAW_TYPE}) AS raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineTable:
    """The table of rows put aside: what is decided about it, and what its rows are made of."""

    decision: Decision
    layout: NestedLayout
    source: ExtractedTable

    @property
    def table(self) -> str:
        """Its name."""
        return QUARANTINE_TABLE


def quarantine_table(
    schema: StoredSchema, table: ExtractedTable, options: InferenceOptions, extras: Mapping[str, Any]
) -> QuarantineTable:
    """Say where rows of a table go that are put aside."""
    known = with_root_table(schema, QUARANTINE_TABLE, replace(table, write_disposition="append"), extras)
    leaves = {
        key: (key, Leaf(storage_form=_STORAGE_FORMS[kind], forms=frozenset()))
        for key, kind in QUARANTINE_COLUMNS.items()
    }
    evidence = [Evidence(path=(), type="object")]
    evidence += [
        Evidence(path=(key,), type=kind, first=(0, number))
        for number, (key, kind) in enumerate(QUARANTINE_COLUMNS.items(), 1)
    ]
    return QuarantineTable(
        decision=decide(known, QUARANTINE_TABLE, evidence, options),
        layout=NestedLayout(Object(fields=leaves)),
        source=table,
    )


def quarantined_rows(
    nested: DataFrame,
    quarantine: QuarantineTable,
    decision: Decision,
    layout: NestedLayout,
    *,
    with_unexpected: bool,
) -> DataFrame:
    """The rows of a nested dataset that are put aside: root rows by their text, nested ones by their JSON.

    `with_odd` says whether rows go too that are not refused, and that nothing could be made of.
    """
    chosen = nested.where("raw IS NOT NULL" if with_unexpected else "raw.rule IS NOT NULL")
    roots = chosen.selectExpr("id", _NULL_RAW, _root_row_sql(quarantine.source))
    others = [_nested_rows(nested, quarantine.source, one) for one in refused_nested_rows(decision, layout)]
    return reduce(lambda all_, one: all_.unionByName(one), others, roots)


def _root_row_sql(source: ExtractedTable) -> str:
    return _row_sql(
        source,
        table=source.table,
        path="raw.path",
        rule=f"coalesce(raw.rule, {literal(UNREADABLE_RULE)})",
        item="raw.position",
        reason=f"coalesce(raw.reason, {literal(_UNREADABLE_REASON)})",
        raw="raw.text",
    )


def _nested_rows(nested: DataFrame, source: ExtractedTable, refused: RefusedNestedRows) -> DataFrame:
    frame = nested.where("raw IS NULL")
    for number, level in enumerate(refused.levels):
        if number:
            frame = frame.selectExpr("id AS parent", f"posexplode({level_elements(level)}) AS (idx, row)")
            own = f"concat(parent, '_', {literal(level.table)}, '_', CAST(idx AS STRING))"
            frame = frame.selectExpr(f"{id_digest(own)} AS id", "idx", "row")
        if number + 1 < len(refused.levels):
            # What is below a refused row is put aside with it.
            for one in level.refused:
                frame = frame.where(f"NOT {is_excluded(one)}")
    reason = _first_match_sql(refused, [one.reason for one in refused.rows])
    path = _first_match_sql(refused, [one.path for one in refused.rows])
    rule = _first_match_sql(refused, [one.rule for one in refused.rows])
    kept = frame.where(" OR ".join(one.condition for one in refused.rows))
    item = "idx" if len(refused.levels) > 1 else "NULL"
    row = _row_sql(
        source, table=refused.table, path=path, rule=rule, item=item, reason=reason, raw=refused.raw
    )
    return kept.selectExpr(f"{id_digest(_quarantine_id_sql(refused))} AS id", _NULL_RAW, row)


def _first_match_sql(refused: RefusedNestedRows, texts: Sequence[str]) -> str:
    """What is said of the first thing that is refused in a row."""
    cases = zip(refused.rows, texts, strict=True)
    return f"CASE {' '.join(f'WHEN {one.condition} THEN {literal(text)}' for one, text in cases)} END"


def _quarantine_id_sql(refused: RefusedNestedRows) -> str:
    # A row that is kept may be told of here as well, for the list in it whose table is refused.
    return f"concat(id, '/', {literal(refused.table)})"


def _row_sql(source: ExtractedTable, *, table: str, **values: str) -> str:
    said = {"resource_name": literal(source.resource), "table_name": literal(table), **values}
    fields = (
        f"{literal(name)}, CAST({said[name]} AS {'BIGINT' if kind == 'bigint' else 'STRING'})"
        for name, kind in QUARANTINE_COLUMNS.items()
    )
    return f"named_struct({', '.join(fields)}) AS row"
