"""Rows that are merged by a key, or have a history, get the id that dlt gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.package.shake import row_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.normalize.rowids import Hashing


def identify_rows(stamped: DataFrame, hashing: Hashing | None) -> DataFrame:
    """Replace `id`, by place, with one made of the JSON in the column `text`, where that is wanted.

    Python on the executors: no function of Spark gives such ids. It needs the whole text anyway.
    """
    if hashing is None:
        return stamped
    return stamped.mapInArrow(row_hashes(text="text", to="id", keys=hashing.keys), stamped.schema)
