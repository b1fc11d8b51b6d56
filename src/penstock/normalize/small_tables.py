"""Small tables that the driver writes: each gets its final Parquet file without a Spark job."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.normalize.flat_rows import FlatInput, NeedsSpark, flat_tables, row_position_id
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.row_hashes import row_hash_spec
from penstock.normalize.table_parts import FlatFiles, WrittenDataset, table_part
from penstock.package import DataFolder
from penstock.package.dlt_ids import row_hashes
from penstock.package.folder import DRIVER_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.normalize.flat_rows import FlatTable
    from penstock.normalize.profile import RowProfile
    from penstock.normalize.row_hashes import RowHashSpec
    from penstock.normalize.table_parts import PackageContext, TablePart
    from penstock.schema import Decision, StoredSchema

_POSITION_DIGITS: Final = 10


def write_small_tables(
    context: PackageContext,
    decision: Decision,
    profile: RowProfile,
    texts: Mapping[str, Sequence[bytes]],
    schema: StoredSchema,
    table: str,
) -> TablePart | None:
    """Write the tables of a root table to one file each; return None if Spark has to.

    `texts` are all rows of the root table by the file they are in, and the decision is based on all of them.
    """
    if not _can_write_in_driver(context, decision) or not context.driver_budget.take(profile.rows):
        return None
    load_id = context.package.load_id
    layout = plan_layout(decision, profile)
    plans = plan_tables(decision, layout)
    rows = [
        FlatInput(
            row_id=row_position_id(load_id, file=file, position=position),
            text=text,
            position=f"{file}/{position:0{_POSITION_DIGITS}d}",
        )
        for file, file_texts in texts.items()
        for position, text in enumerate(file_texts)
    ]
    with context.stopwatch("shape"):
        try:
            hash_spec = row_hash_spec(decision, context.naming)
            hashed_rows = rows if hash_spec is None else _with_hashed_ids(rows, hash_spec)
            tables = flat_tables(decision, plans, hashed_rows, load_id=load_id)
        except NeedsSpark:
            return None
        files = {name: _write_table(context, flat) for name, flat in tables.items()}
    dataset = WrittenDataset(
        folders=tuple(flat.folder.path for flat in files.values()),
        layout=layout,
        rows=profile.rows,
        flat_files=files,
    )
    return table_part(decision, dataset, schema, table, plans=plans)


def _can_write_in_driver(context: PackageContext, decision: Decision) -> bool:
    """Return whether the rows of a decided table need nothing that only Spark computes.

    Merges of lakes read the position of each row from the files of Spark; rows with hashed ids are merged.
    """
    if context.capabilities is not None and context.capabilities.merges_driver_files:
        return True
    return all(decision.schema.tables[name].write_disposition != "merge" for name in decision.tables.values())


def _with_hashed_ids(rows: Sequence[FlatInput], hash_spec: RowHashSpec) -> list[FlatInput]:
    """Return rows whose ids are hashes of keys or of whole rows, by the function that Spark runs too."""
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
    )
