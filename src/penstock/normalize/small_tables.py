"""Small tables that the driver writes: each gets its final Parquet file without a Spark job."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from penstock.normalize.flat_rows import NeedsSpark, flat_tables, row_position_id
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.table_parts import FlatFiles, WrittenDataset, table_part
from penstock.package import DataFolder
from penstock.package.folder import DRIVER_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.normalize.flat_rows import FlatTable
    from penstock.normalize.profile import RowProfile
    from penstock.normalize.table_parts import PackageContext, TablePart
    from penstock.schema import Decision, StoredSchema


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
    if not _can_write_in_driver(decision) or not context.driver_budget.take(profile.rows):
        return None
    load_id = context.package.load_id
    layout = plan_layout(decision, profile)
    plans = plan_tables(decision, layout)
    rows = (
        (row_position_id(load_id, file=file, position=position), text)
        for file, file_texts in texts.items()
        for position, text in enumerate(file_texts)
    )
    with context.stopwatch("shape"):
        try:
            tables = flat_tables(decision, plans, rows, load_id=load_id)
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


def _can_write_in_driver(decision: Decision) -> bool:
    """Return whether the rows of a decided table need nothing that only Spark computes.

    Merges read the position of each row from the files, and rows with hashed ids belong to merges.
    """
    return all(decision.schema.tables[name].write_disposition != "merge" for name in decision.tables.values())


def _write_table(context: PackageContext, table: FlatTable) -> FlatFiles:
    folder, content = next(context.new_folders), io.BytesIO()
    pq.write_table(table.rows, content)
    context.package.store.put(f"{folder}/{DRIVER_FILE}", content.getvalue())
    return FlatFiles(
        folder=DataFolder.described(folder, {DRIVER_FILE: content.tell()}),
        columns=table.ddl,
        rows=table.rows.num_rows,
    )
