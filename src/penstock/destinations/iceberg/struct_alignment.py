"""Rows as their table has them: a struct inside of a row may have fewer fields, or in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def align_structs(rows: DataFrame, table_schema: StructType) -> DataFrame:
    """Bring kept columns to the fields that the table has by now; those that a row lacks are null.

    Columns that the table does not have, and whole columns that rows lack, are left as they are.
    """
    wanted = {field.name: field.dataType for field in table_schema}
    differing = {
        field.name: wanted[field.name]
        for field in rows.schema
        if field.name in wanted and _has_other_fields(field.dataType, wanted[field.name])
    }
    if not differing:
        return rows
    return rows.select(
        *(
            _align(F.col(quote_name(field.name)), field.dataType, wanted[field.name]).alias(field.name)
            if field.name in differing
            else F.col(quote_name(field.name))
            for field in rows.schema
        )
    )


def _has_other_fields(row_type: DataType, table_type: DataType) -> bool:
    """Whether structs inside of two types differ in their fields."""
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        pairs = zip(row_type, table_type, strict=False)
        return row_type.names != table_type.names or any(
            _has_other_fields(one.dataType, two.dataType) for one, two in pairs
        )
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        return _has_other_fields(row_type.elementType, table_type.elementType)
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        return _has_other_fields(row_type.valueType, table_type.valueType)
    return False


def _align(value: Column, row_type: DataType, table_type: DataType) -> Column:
    if isinstance(row_type, ArrayType) and isinstance(table_type, ArrayType):
        inner, to = row_type.elementType, table_type.elementType
        return F.transform(value, lambda one: _align(one, inner, to))
    if isinstance(row_type, MapType) and isinstance(table_type, MapType):
        inner, to = row_type.valueType, table_type.valueType
        return F.transform_values(value, lambda _, one: _align(one, inner, to))
    if isinstance(row_type, StructType) and isinstance(table_type, StructType):
        known = {field.name: field.dataType for field in row_type}
        fields = (
            (
                _align(value.getField(field.name), known[field.name], field.dataType)
                if field.name in known
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in table_type
        )
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
