"""Small tables that the driver writes: each gets its final Parquet file without a Spark job."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from penstock.normalize.flat_rows import NeedsSpark, flat_tables, row_position_id
from penstock.normalize.plan import plan_layout, plan_tables
from penstock.normalize.table_parts import FlatFiles, WrittenDataset
from penstock.package import DataFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.normalize.flat_rows import FlatTable
    from penstock.normalize.profile import RowProfile
    from penstock.normalize.table_parts import PackageContext
    from penstock.schema import Decision

_FILE_NAME: Final = "part-00000.parquet"


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """A row as extract wrote it, with its place in the package."""

    file: str
    position: int
    text: bytes


def can_write_in_driver(decision: Decision) -> bool:
    """Return whether the rows of a decided table need nothing that only Spark computes.

    Merges read the position of each row from the files, and rows with hashed ids belong to merges.
    """
    return all(decision.schema.tables[name].write_disposition != "merge" for name in decision.tables.values())


def write_small_tables(
    context: PackageContext, decision: Decision, profile: RowProfile, rows: Sequence[ExtractedText]
) -> WrittenDataset | None:
    """Write the tables of a root table to one file each; return None if Spark has to.

    `rows` are all rows of the root table, and the decision is based on all of them.
    """
    if not can_write_in_driver(decision):
        return None
    load_id = context.package.load_id
    layout = plan_layout(decision, profile)
    ids = ((row_position_id(load_id, file=row.file, position=row.position), row.text) for row in rows)
    with context.stopwatch("shape"):
        try:
            tables = flat_tables(decision, plan_tables(decision, layout), ids, load_id=load_id)
        except NeedsSpark:
            return None
        files = {name: _write_table(context, table) for name, table in tables.items()}
    return WrittenDataset(
        folders=tuple(flat.folder.path for flat in files.values()),
        layout=layout,
        rows=len(rows),
        flat_files=files,
    )


def _write_table(context: PackageContext, table: FlatTable) -> FlatFiles:
    folder, content = next(context.new_folders), io.BytesIO()
    pq.write_table(table.rows, content)
    context.package.store.put(f"{folder}/{_FILE_NAME}", content.getvalue())
    return FlatFiles(
        folder=DataFolder.described(folder, {_FILE_NAME: content.tell()}),
        columns=table.ddl,
        rows=table.rows.num_rows,
    )
