"""Typed columns become the same struct that parsed texts do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from penstock.normalize.shape import sql_type
from penstock.normalize.tree import Node, Object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from penstock.normalize.shape import NameKeys


def fit_rows(files: DataFrame, tree: Node, name_keys: NameKeys, columns: Mapping[str, Any]) -> DataFrame:
    """Put the columns of typed files into the column `row`, with `file` and `position` beside it.

    By position, like parsed texts: the fields of the tree are the columns, in their order. Names in the files
    are plain, so no path can be read out of them.
    """
    if tree == Object(()):
        row = F.lit(None).cast("boolean")
    else:
        row = F.struct(*(F.col(one["name"]) for one in columns["fields"])).cast(sql_type(tree, name_keys))
    return files.select(
        row.alias("row"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )
