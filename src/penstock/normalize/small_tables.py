"""Small tables that the driver writes: each gets its final Parquet file without a Spark job."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.normalize.check_counts import failing_rows
from penstock.normalize.checks import expectation_reason, expectation_rule
from penstock.normalize.flat_rows import FlatInput, NeedsSpark, flat_tables, row_position_id
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.quarantine import quarantine_table
from penstock.normalize.row_conditions import UnsupportedCondition
from penstock.normalize.row_hashes import row_hash_spec
from penstock.normalize.table_parts import FlatFiles, WrittenDataset, table_part
from penstock.package import DataFolder
from penstock.package.dlt_ids import row_hashes
from penstock.package.folder import DRIVER_FILE
from penstock.package.quarantine import ROOT_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.interfaces.check import Check
    from penstock.normalize.flat_rows import FlatTable
    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.profile import RowProfile
    from penstock.normalize.row_hashes import RowHashSpec
    from penstock.normalize.table_parts import PackageContext, TablePart
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.schema import Decision, StoredSchema

_POSITION_DIGITS: Final = 10


def write_small_tables(
    context: PackageContext,
    decision: Decision,
    profile: RowProfile,
    texts: Mapping[str, Sequence[bytes]],
    schema: StoredSchema,
    source: ExtractedTable,
) -> list[TablePart]:
    """Write the tables of a root table to one file each; return nothing if Spark has to.

    `texts` are all rows of the root table by the file they are in, and the decision is based on all of them.
    Rows that fail a check which quarantines them are written to the quarantine table.
    """
    if not _can_write_in_driver(context, decision) or not context.driver_budget.take(profile.rows):
        return []
    layout = plan_layout(decision, profile)
    plans = plan_tables(decision, layout)
    table = decision.tables[()]
    with context.stopwatch("shape"):
        try:
            rows = _with_ids(_positioned_rows(context, texts), row_hash_spec(decision, context.naming))
            tables = flat_tables(decision, plans, rows, load_id=context.package.load_id)
            failing = _failing_rows(tables[table], context.checks_of(decision))
            if failing:
                remaining = [row for index, row in enumerate(rows) if index not in failing]
                tables = flat_tables(decision, plans, remaining, load_id=context.package.load_id)
        except (NeedsSpark, UnsupportedCondition):
            return []
        files = {name: _write_table(context, flat) for name, flat in tables.items()}
    dataset = WrittenDataset(
        folders=tuple(flat.folder.path for flat in files.values()),
        layout=layout,
        rows=profile.rows,
        refused=len(failing),
        refused_by_check=Counter(check.name for check in failing.values()),
        flat_files=files,
    )
    parts = [table_part(decision, dataset, schema, table, plans=plans)]
    if failing and context.quarantine:
        quarantined = [(rows[index], check) for index, check in failing.items()]
        parts.append(_quarantine_part(context, quarantined, decision.schema, source))
    return parts


def write_flat_rows(
    context: PackageContext,
    decision: Decision,
    layout: NestedLayout,
    rows: Sequence[FlatInput],
    schema: StoredSchema,
) -> TablePart:
    """Write the rows of a table that penstock fills itself; `schema` is the one before it."""
    plans = plan_tables(decision, layout)
    table = decision.tables[()]
    flat = flat_tables(decision, plans, rows, load_id=context.package.load_id)
    files = {table: _write_table(context, flat[table])}
    dataset = WrittenDataset(
        folders=(files[table].folder.path,), layout=layout, rows=len(rows), flat_files=files
    )
    # No value of the source made these columns.
    return replace(table_part(decision, dataset, schema, table, plans=plans), origins=())


def _positioned_rows(context: PackageContext, texts: Mapping[str, Sequence[bytes]]) -> list[FlatInput]:
    return [
        FlatInput(
            row_id=row_position_id(context.package.load_id, file=file, position=position),
            text=text,
            position=f"{file}/{position:0{_POSITION_DIGITS}d}",
        )
        for file, file_texts in texts.items()
        for position, text in enumerate(file_texts)
    ]


def _failing_rows(root: FlatTable, checks: Sequence[Check]) -> dict[int, Check]:
    """Return the root rows that fail a check which quarantines them, by their index."""
    return failing_rows(root.rows, root.column_types, checks) if checks else {}


def _quarantine_part(
    context: PackageContext,
    quarantined: Sequence[tuple[FlatInput, Check]],
    schema: StoredSchema,
    source: ExtractedTable,
) -> TablePart:
    quarantine = quarantine_table(schema, source, context)
    rows = [
        replace(
            row,
            text=orjson.dumps(
                {
                    "resource_name": source.resource,
                    "table_name": source.table,
                    "path": ROOT_PATH,
                    "rule": expectation_rule(check),
                    "item": int(row.position.rpartition("/")[2]),
                    "reason": expectation_reason(check),
                    "raw": row.text.decode(),
                }
            ),
        )
        for row, check in quarantined
    ]
    return write_flat_rows(context, quarantine.decision, quarantine.layout, rows, schema)


def _can_write_in_driver(context: PackageContext, decision: Decision) -> bool:
    """Return whether the rows of a decided table need nothing that only Spark computes.

    Merges of lakes read the position of each row from the files of Spark; rows with hashed ids are merged.
    """
    if context.capabilities is not None and context.capabilities.merges_driver_files:
        return True
    return all(decision.schema.tables[name].write_disposition != "merge" for name in decision.tables.values())


def _with_ids(rows: list[FlatInput], hash_spec: RowHashSpec | None) -> list[FlatInput]:
    """Return rows whose ids are hashes of keys or of whole rows, if there is a hash spec.

    The hashes are those of the function that Spark runs too.
    """
    if hash_spec is None:
        return rows
    texts = pa.array([row.text.decode() for row in rows], pa.string())
    ids = pa.array([row.row_id for row in rows], pa.string())
    batch = pa.RecordBatch.from_arrays([texts, ids], names=["text", "id"])
    hashed = row_hashes(text_column="text", id_column="id", key_paths=hash_spec.keys)
    (result,) = hashed([batch])
    return [
        replace(row, row_id=row_id) for row, row_id in zip(rows, result.column("id").to_pylist(), strict=True)
    ]


def _write_table(context: PackageContext, table: FlatTable) -> FlatFiles:
    folder, content = next(context.new_folders), io.BytesIO()
    pq.write_table(table.rows, content)
    context.package.store.put(f"{folder}/{DRIVER_FILE}", content.getvalue())
    return FlatFiles(
        folder=DataFolder.described(folder, {DRIVER_FILE: content.tell()}),
        columns=table.ddl,
        rows=table.rows.num_rows,
        content=table,
    )
