"""Typed columns become the same struct that parsed texts do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from penstock.normalize.nested_layout import RAW_TYPE, raw_key_sql_type, sql_type
from penstock.normalize.steps.parse import refused_raw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.refusals import RefusedRows


def pack_rows(
    files: DataFrame, layout: NestedLayout, columns: Mapping[str, Any], refused: Sequence[RefusedRows] = ()
) -> DataFrame:
    """Put the columns of typed files into the column `row`, with `file` and `position` beside it.

    By position, like parsed texts: the fields of the dataset are the columns, in their order. Names in the
    files are plain, so no path can be read out of them. Rows that are `refused` have their JSON in `raw`.
    """
    if layout.root.fields:
        row = F.struct(*(F.col(one["name"]) for one in columns["fields"])).cast(sql_type(layout.root))
    else:
        row = F.lit(None).cast("boolean")
    rows = files.select(
        row.alias("row"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )
    if not refused:
        return rows.withColumn("raw", F.lit(None).cast(RAW_TYPE))
    json = f"to_json(CAST(row AS {raw_key_sql_type(layout.root)}))" if layout.root.fields else "'{}'"
    cases = (f"WHEN {one.condition} THEN {refused_raw(one, text=json)}" for one in refused)
    return rows.withColumn("raw", F.expr(f"CASE {' '.join(cases)} END"))
