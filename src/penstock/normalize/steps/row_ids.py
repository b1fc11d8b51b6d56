"""Rows that are merged by a key, or have a history, get the id that dlt gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.dlt_ids import row_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.normalize.rowids import RowHashSpec


def hash_row_ids(rows: DataFrame, hash_spec: RowHashSpec | None) -> DataFrame:
    """Replace `id`, by place, with one made of the JSON in the column `text`, where that is wanted.

    Python on the executors: no function of Spark gives such ids. It needs the whole text anyway.
    """
    if hash_spec is None:
        return rows
    return rows.mapInArrow(
        row_hashes(text_column="text", id_column="id", key_paths=hash_spec.keys), rows.schema
    )
