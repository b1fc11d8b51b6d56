"""JSON text becomes a typed struct, with the names of the nested dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.normalize.shape import sql_type
from penstock.normalize.tree import Node, Object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from penstock.normalize.shape import NameKeys

# Spark stops at 20 million characters in one text unless told otherwise.
_OPTIONS = {"maxStringLen": str(2**31 - 1), "maxNestingDepth": "1000"}


def parse_rows(raw: DataFrame, tree: Node, name_keys: NameKeys) -> DataFrame:
    """Replace the text column `row` by a struct; every other column stays."""
    if tree == Object(()):
        return raw.withColumn("row", F.lit(None).cast("boolean"))
    # Read under the raw keys, then rename by position: a cast between structs does not look at names.
    parsed = F.from_json(F.col("row"), sql_type(tree, _raw), _OPTIONS)
    return raw.withColumn("row", parsed.cast(sql_type(tree, name_keys)))


def _raw(keys: Sequence[str]) -> dict[str, str]:
    return {key: key for key in keys}
