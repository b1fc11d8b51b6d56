"""Rows that are refused, or that nothing could be made of, are kept with the reason, beside the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.known import with_root
from penstock.normalize.refusals import refused_nested
from penstock.normalize.stored import RAW, Dataset, Leaf, Object
from penstock.package.quarantine import COLUMNS, TABLE, UNREADABLE
from penstock.package.sql import literal
from penstock.package.unfold import digest, elements_of, is_refused
from penstock.schema import decide
from penstock.schema.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.refusals import RefusedNested
    from penstock.package.extracted import ExtractedTable
    from penstock.package.picking import Stored
    from penstock.schema import Decision, StoredSchema
    from penstock.schema.terms import Terms

_STORED: Final[Mapping[str, Stored]] = {"text": "text", "bigint": "bigint"}
_REASON: Final = "it cannot be read, or holds a value that its column does not take"
_KEPT: Final = f"CAST(NULL AS {RAW}) AS raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """The table of rows put aside: what is decided about it, and what its rows are made of."""

    decision: Decision
    dataset: Dataset
    source: ExtractedTable

    @property
    def table(self) -> str:
        """Its name."""
        return TABLE


def quarantined(
    stored: StoredSchema, table: ExtractedTable, terms: Terms, extras: Mapping[str, Any]
) -> Aside:
    """Say where rows of a table go that are put aside."""
    known = with_root(stored, TABLE, replace(table, write_disposition="append"), extras)
    leaves = {key: (key, Leaf(stored=_STORED[kind], forms=frozenset())) for key, kind in COLUMNS.items()}
    evidence = [Evidence(path=(), type="object")]
    evidence += [
        Evidence(path=(key,), type=kind, first=(0, number))
        for number, (key, kind) in enumerate(COLUMNS.items(), 1)
    ]
    return Aside(
        decision=decide(known, TABLE, evidence, terms),
        dataset=Dataset(Object(fields=leaves)),
        source=table,
    )


def rows_aside(
    nested: DataFrame, aside: Aside, decision: Decision, dataset: Dataset, *, with_odd: bool
) -> DataFrame:
    """The rows of a nested dataset that are put aside: root rows by their text, nested ones by their JSON.

    `with_odd` says whether rows go too that are not refused, and that nothing could be made of.
    """
    chosen = nested.where("raw IS NOT NULL" if with_odd else "raw.rule IS NOT NULL")
    roots = chosen.selectExpr("id", _KEPT, _root(aside.source))
    others = [_nested(nested, aside.source, one) for one in refused_nested(decision, dataset)]
    return reduce(lambda all_, one: all_.unionByName(one), others, roots)


def _root(source: ExtractedTable) -> str:
    return _row(
        source,
        table=source.table,
        path="raw.path",
        rule=f"coalesce(raw.rule, {literal(UNREADABLE)})",
        item="raw.position",
        reason=f"coalesce(raw.reason, {literal(_REASON)})",
        raw="raw.text",
    )


def _nested(nested: DataFrame, source: ExtractedTable, refused: RefusedNested) -> DataFrame:
    frame = nested.where("raw IS NULL")
    for number, level in enumerate(refused.levels):
        if number:
            frame = frame.selectExpr("id AS parent", f"posexplode({elements_of(level)}) AS (idx, row)")
            own = f"concat(parent, '_', {literal(level.table)}, '_', CAST(idx AS STRING))"
            frame = frame.selectExpr(f"{digest(own)} AS id", "idx", "row")
        if number + 1 < len(refused.levels):
            # What is below a refused row is put aside with it.
            for one in level.refused:
                frame = frame.where(f"NOT {is_refused(one)}")
    reason = _first(refused, [one.reason for one in refused.rows])
    path = _first(refused, [one.path for one in refused.rows])
    rule = _first(refused, [one.rule for one in refused.rows])
    kept = frame.where(" OR ".join(one.condition for one in refused.rows))
    item = "idx" if len(refused.levels) > 1 else "NULL"
    row = _row(source, table=refused.table, path=path, rule=rule, item=item, reason=reason, raw=refused.raw)
    return kept.selectExpr(f"{digest(_own_id(refused))} AS id", _KEPT, row)


def _first(refused: RefusedNested, said: Sequence[str]) -> str:
    """What is said of the first thing that is refused in a row."""
    cases = zip(refused.rows, said, strict=True)
    return f"CASE {' '.join(f'WHEN {one.condition} THEN {literal(text)}' for one, text in cases)} END"


def _own_id(refused: RefusedNested) -> str:
    # A row that is kept may be told of here as well, for the list in it whose table is refused.
    return f"concat(id, '/', {literal(refused.table)})"


def _row(source: ExtractedTable, *, table: str, **values: str) -> str:
    said = {"resource_name": literal(source.resource), "table_name": literal(table), **values}
    fields = (
        f"{literal(name)}, CAST({said[name]} AS {'BIGINT' if kind == 'bigint' else 'STRING'})"
        for name, kind in COLUMNS.items()
    )
    return f"named_struct({', '.join(fields)}) AS row"
