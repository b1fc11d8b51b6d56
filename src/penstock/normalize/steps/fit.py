"""Typed columns become the same struct that parsed texts do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from penstock.normalize.stored import RAW, sql_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from penstock.normalize.stored import Dataset


def fit_rows(files: DataFrame, dataset: Dataset, columns: Mapping[str, Any]) -> DataFrame:
    """Put the columns of typed files into the column `row`, with `file` and `position` beside it.

    By position, like parsed texts: the fields of the dataset are the columns, in their order. Names in the
    files are plain, so no path can be read out of them.
    """
    if dataset.root.fields:
        row = F.struct(*(F.col(one["name"]) for one in columns["fields"])).cast(sql_type(dataset.root))
    else:
        row = F.lit(None).cast("boolean")
    return files.select(
        row.alias("row"),
        F.lit(None).cast(RAW).alias("raw"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )
