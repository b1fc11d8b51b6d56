"""Rows as their table has them: a struct inside of a row may have fewer fields, or in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.package.sql import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def fitted(rows: DataFrame, table: StructType) -> DataFrame:
    """Bring kept columns to the fields that the table has by now; those that a row lacks are null.

    Columns that the table does not have, and whole columns that rows lack, are left as they are.
    """
    wanted = {field.name: field.dataType for field in table}
    differing = {
        field.name: wanted[field.name]
        for field in rows.schema
        if field.name in wanted and _is_less(field.dataType, wanted[field.name])
    }
    if not differing:
        return rows
    return rows.select(
        *(
            _fit(F.col(quoted(field.name)), field.dataType, wanted[field.name]).alias(field.name)
            if field.name in differing
            else F.col(quoted(field.name))
            for field in rows.schema
        )
    )


def _is_less(has: DataType, wants: DataType) -> bool:
    """Whether structs inside of two types differ in their fields."""
    if isinstance(has, StructType) and isinstance(wants, StructType):
        pairs = zip(has, wants, strict=False)
        return has.names != wants.names or any(_is_less(one.dataType, two.dataType) for one, two in pairs)
    if isinstance(has, ArrayType) and isinstance(wants, ArrayType):
        return _is_less(has.elementType, wants.elementType)
    if isinstance(has, MapType) and isinstance(wants, MapType):
        return _is_less(has.valueType, wants.valueType)
    return False


def _fit(value: Column, has: DataType, wants: DataType) -> Column:
    if isinstance(has, ArrayType) and isinstance(wants, ArrayType):
        inner, to = has.elementType, wants.elementType
        return F.transform(value, lambda one: _fit(one, inner, to))
    if isinstance(has, MapType) and isinstance(wants, MapType):
        inner, to = has.valueType, wants.valueType
        return F.transform_values(value, lambda _, one: _fit(one, inner, to))
    if isinstance(has, StructType) and isinstance(wants, StructType):
        known = {field.name: field.dataType for field in has}
        fields = (
            (
                _fit(value.getField(field.name), known[field.name], field.dataType)
                if field.name in known
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in wants
        )
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
