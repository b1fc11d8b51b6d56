"""The quarantine table: rows that a contract refuses or that cannot be read, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import RAW_TYPE, Leaf, NestedLayout, Object
from penstock.normalize.prior_schema import with_root_table
from penstock.normalize.refusals import refused_nested_rows
from penstock.normalize.table_parts import table_part, write_dataset
from penstock.package.projection.explode import id_digest, is_excluded, level_elements
from penstock.package.quarantine import QUARANTINE_COLUMNS, QUARANTINE_TABLE, UNREADABLE_RULE
from penstock.package.replayed_rows import origin_sql, without_origin_sql
from penstock.package.sql import literal
from penstock.schema import decide
from penstock.schema.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.refusals import RefusedNestedRows, RefusedRows
    from penstock.normalize.table_inputs import TableInput
    from penstock.normalize.table_parts import PackageContext, TablePart, WrittenDataset
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.package.projection.typed_values import StorageForm
    from penstock.schema import Decision, StoredSchema
    from penstock.schema.inference_options import InferenceOptions
    from penstock.schema.types import DataType

_STORAGE_FORMS: Final[Mapping[str, StorageForm]] = {"text": "text", "bigint": "bigint", "bool": "bool"}
_UNREADABLE_REASON: Final = "it cannot be read, or holds a value that its column does not take"
_NULL_RAW: Final = f"CAST(NULL AS {RAW_TYPE}) AS raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTable:
    """The decision about a table whose rows penstock makes itself, and the layout of its rows."""

    decision: Decision
    layout: NestedLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineTable(SystemTable):
    """The decision about the quarantine table, and the table whose rows it gets."""

    source: ExtractedTable
    replay_load_id: str | None
    """The id of the load if its root rows are replayed from the quarantine."""


def write_quarantine(
    context: PackageContext, datasets: Sequence[WrittenDataset], table_input: TableInput, decision: Decision
) -> Iterator[TablePart]:
    """Write what is refused in each dataset, and the rows of the last one that could not be read."""
    schema = decision.schema
    for dataset in datasets if context.quarantine else ():
        # Unexpected rows of the datasets before were written in the round after them.
        with_unexpected = dataset is datasets[-1]
        has_unexpected = dataset.unexpected and with_unexpected
        if not (dataset.refused or has_unexpected or refused_nested_rows(decision, dataset.layout)):
            continue
        quarantine = quarantine_table(schema, table_input.table, context)
        nested = context.read_nested(dataset.layout, dataset.folder)
        rows = quarantined_rows(nested, quarantine, decision, dataset.layout, with_unexpected=with_unexpected)
        quarantined = write_dataset(context, rows, quarantine.layout, step="quarantine")
        if quarantined.rows:
            part = table_part(quarantine.decision, quarantined, schema, QUARANTINE_TABLE)
            # No value of the source made these columns.
            yield replace(part, origins=())
            schema = quarantine.decision.schema


def quarantine_table(schema: StoredSchema, table: ExtractedTable, context: PackageContext) -> QuarantineTable:
    """Decide about the quarantine table for rows of a table."""
    entry = replace(table, write_disposition=context.replay or "append")
    prior_schema = with_root_table(schema, QUARANTINE_TABLE, entry, context.table_extras)
    quarantine = system_table(prior_schema, QUARANTINE_TABLE, QUARANTINE_COLUMNS, context.options)
    return QuarantineTable(
        decision=quarantine.decision,
        layout=quarantine.layout,
        source=table,
        replay_load_id=context.package.load_id if context.replay else None,
    )


def system_table(
    schema: StoredSchema, name: str, columns: Mapping[str, DataType], options: InferenceOptions
) -> SystemTable:
    """Decide about a table whose rows penstock makes itself, with all of these columns."""
    leaves = {
        key: (key, Leaf(storage_form=_STORAGE_FORMS[data_type], forms=frozenset()))
        for key, data_type in columns.items()
    }
    evidence = [Evidence(path=(), type="object")]
    evidence += [
        Evidence(path=(key,), type=data_type, first=(0, number))
        for number, (key, data_type) in enumerate(columns.items(), 1)
    ]
    return SystemTable(
        decision=decide(schema, name, evidence, options), layout=NestedLayout(Object(fields=leaves))
    )


def quarantined_rows(
    nested: DataFrame,
    quarantine: QuarantineTable,
    decision: Decision,
    layout: NestedLayout,
    *,
    with_unexpected: bool,
) -> DataFrame:
    """Select the refused rows of a nested dataset, root rows by their text and nested ones by their JSON.

    Rows that could not be read are selected only `with_unexpected`.
    """
    chosen = nested.where("raw IS NOT NULL" if with_unexpected else "raw.rule IS NOT NULL")
    roots = _root_rows(chosen, quarantine)
    frames = (
        _nested_rows(nested, quarantine.source, refused) for refused in refused_nested_rows(decision, layout)
    )
    return reduce(lambda union, frame: union.unionByName(frame), frames, roots)


def _root_rows(chosen: DataFrame, quarantine: QuarantineTable) -> DataFrame:
    columns = {
        "table": quarantine.source.table,
        "path": "raw.path",
        "rule": f"coalesce(raw.rule, {literal(UNREADABLE_RULE)})",
        "reason": f"coalesce(raw.reason, {literal(_UNREADABLE_REASON)})",
    }
    if quarantine.replay_load_id is None:
        row = _row_sql(quarantine.source, item="raw.position", raw="raw.text", **columns)
        return chosen.selectExpr("id", _NULL_RAW, row)
    again = literal(f"; refused again by load {quarantine.replay_load_id}: ")
    columns["reason"] = f"concat(origin.reason, {again}, {columns['reason']})"
    row = _row_sql(
        quarantine.source,
        resource="origin.resource_name",
        item="origin.item",
        raw=without_origin_sql("raw.text"),
        **columns,
    )
    # The id of the row in the quarantine is unchanged.
    with_origins = chosen.selectExpr("raw", f"{origin_sql('raw.text')} AS origin")
    return with_origins.selectExpr("origin._dlt_id AS id", _NULL_RAW, row)


def _nested_rows(nested: DataFrame, source: ExtractedTable, refused: RefusedNestedRows) -> DataFrame:
    frame = nested.where("raw IS NULL")
    for number, level in enumerate(refused.levels):
        if number:
            frame = frame.selectExpr("id AS parent", f"posexplode({level_elements(level)}) AS (idx, row)")
            own_id = f"concat(parent, '_', {literal(level.table)}, '_', CAST(idx AS STRING))"
            frame = frame.selectExpr(f"{id_digest(own_id)} AS id", "idx", "row")
        if number + 1 < len(refused.levels):
            # Rows below a refused row are in the JSON of that row.
            for exclusion in level.refused:
                frame = frame.where(f"NOT {is_excluded(exclusion)}")
    frame = frame.where(" OR ".join(rows.condition for rows in refused.rows))
    row = _row_sql(
        source,
        table=refused.table,
        path=_first_match_sql(refused.rows, [rows.path for rows in refused.rows]),
        rule=_first_match_sql(refused.rows, [rows.rule for rows in refused.rows]),
        item="idx" if len(refused.levels) > 1 else "NULL",
        reason=_first_match_sql(refused.rows, [rows.reason for rows in refused.rows]),
        raw=refused.raw,
    )
    return frame.selectExpr(f"{id_digest(_quarantine_id_sql(refused))} AS id", _NULL_RAW, row)


def _first_match_sql(refused_rows: Sequence[RefusedRows], texts: Sequence[str]) -> str:
    """Return SQL for the text of the first reason that holds for a row."""
    cases = (
        f"WHEN {rows.condition} THEN {literal(text)}" for rows, text in zip(refused_rows, texts, strict=True)
    )
    return f"CASE {' '.join(cases)} END"


def _quarantine_id_sql(refused: RefusedNestedRows) -> str:
    # A row with a list whose table is refused is kept, and quarantined here under an id that differs.
    return f"concat(id, '/', {literal(refused.table)})"


def _row_sql(source: ExtractedTable, *, table: str, resource: str | None = None, **values: str) -> str:
    resource_name = resource or literal(source.resource)
    columns = {"resource_name": resource_name, "table_name": literal(table), **values}
    fields = (
        f"{literal(name)}, CAST({columns[name]} AS {'BIGINT' if data_type == 'bigint' else 'STRING'})"
        for name, data_type in QUARANTINE_COLUMNS.items()
    )
    return f"named_struct({', '.join(fields)}) AS row"
