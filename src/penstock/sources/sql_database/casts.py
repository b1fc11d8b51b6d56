"""Texts that stand for something else get their meaning: documents, times of day, numbers of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from penstock.errors import UsageError
from penstock.interfaces.file_schema import LOGICAL_TYPE_KEY
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.sources.sql_database.column_types import TypeMapping

DECIMAL_DIGITS: Final = (38, 9)
_FITS_DECIMAL: Final = r"^-?[0-9]{1,29}(\.[0-9]{1,9}0*)?$"


def cast_text_columns(frame: DataFrame, mappings: Mapping[str, TypeMapping | None]) -> DataFrame:
    """The frame with what Spark's types cannot tell.

    A number that is too long for Spark goes as its text to a column beside, and is not rounded.
    """
    if not any(kind is not None and kind.is_text_encoded for kind in mappings.values()):
        return frame
    return frame.select(
        *(column for name in frame.columns for column in _cast_columns(name, mappings.get(name)))
    )


def drop_columns(frame: DataFrame, names: Sequence[str], *, table: str) -> DataFrame:
    """The frame without some columns, which the database was not asked for."""
    known = frame.columns if names else ()
    if missing := [name for name in names if name not in known]:
        raise unknown_column_error(table, missing[0], known)
    return frame.drop(*names)


def unknown_column_error(table: str, column: str, known: Iterable[str]) -> UsageError:
    """What is said of a name that is none of a column."""
    return UsageError(f"{table} has no column {column!r}", hint=f"its columns are: {', '.join(known)}")


def _cast_columns(name: str, mapping: TypeMapping | None) -> Iterator[Column]:
    column = F.col(quote_name(name))
    if mapping is None or not mapping.is_text_encoded:
        yield column
    elif mapping.data_type == "decimal":
        fits = column.rlike(_FITS_DECIMAL)
        precision, scale = DECIMAL_DIGITS
        yield F.when(fits, column.cast(f"decimal({precision},{scale})")).alias(name)
        yield F.when(~fits, column).alias(f"{name}__v_text")
    else:
        yield column.alias(name, metadata={LOGICAL_TYPE_KEY: mapping.data_type})
