"""JSON text becomes a typed struct, with the names of the nested dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from penstock.normalize.tree import Kind, Leaf, ListOf, Node, Object

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.normalize.shape import NameKeys

# Spark stops at 20 million characters in one text unless told otherwise.
_OPTIONS = {"maxStringLen": str(2**31 - 1), "maxNestingDepth": "1000"}


def parse_rows(raw: DataFrame, tree: Node, name_keys: NameKeys) -> DataFrame:
    """Replace the text column `row` by a struct; every other column stays."""
    if tree == Object(()):
        # Rows without a single value: Parquet has no struct without fields.
        return raw.withColumn("row", F.lit(None).cast("boolean"))
    reading, named = spark_type_of(tree), spark_type_of(tree, name_keys)
    parsed = F.from_json(F.col("row"), _struct(reading), _OPTIONS).cast(named)
    return raw.withColumn("row", parsed)


def spark_type_of(node: Node, name_keys: NameKeys | None = None) -> DataType:
    """The type to read with, under raw keys, or the type to write, under given names."""
    match node:
        case Leaf(kind):
            return _LEAVES[kind]
        case ListOf(element):
            return ArrayType(spark_type_of(element, name_keys))
        case Object(fields):
            names = name_keys([key for key, _ in fields]) if name_keys else {}
            return StructType(
                [StructField(names.get(key, key), spark_type_of(child, name_keys)) for key, child in fields]
            )


_LEAVES: dict[Kind, DataType] = {
    "bool": BooleanType(),
    "bigint": LongType(),
    "wide": DecimalType(38, 0),
    "double": DoubleType(),
    "text": StringType(),
    "mixed": VariantType(),
    "void": StringType(),
}


def _struct(read_type: DataType) -> StructType:
    if not isinstance(read_type, StructType):
        raise TypeError("rows are objects: extract wraps everything else")
    return read_type
