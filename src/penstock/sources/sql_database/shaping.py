"""Texts that stand for something else get their meaning: documents, times of day, numbers of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from penstock.errors import UsageError
from penstock.interfaces.columns import KIND
from penstock.package.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.sources.sql_database.columns import ColumnKind

DIGITS: Final = (38, 9)
_FITS: Final = r"^-?[0-9]{1,29}(\.[0-9]{1,9}0*)?$"


def shaped(frame: DataFrame, kinds: Mapping[str, ColumnKind | None]) -> DataFrame:
    """The frame with what Spark's types cannot tell.

    A number that is too long for Spark goes as its text to a column beside, and is not rounded.
    """
    if not any(kind is not None and kind.is_told_by_text for kind in kinds.values()):
        return frame
    return frame.select(*(column for name in frame.columns for column in _columns(name, kinds.get(name))))


def without(frame: DataFrame, names: Sequence[str], *, table: str) -> DataFrame:
    """The frame without some columns, which the database was not asked for."""
    known = frame.columns if names else ()
    if missing := [name for name in names if name not in known]:
        raise no_column(table, missing[0], known)
    return frame.drop(*names)


def no_column(table: str, column: str, known: Iterable[str]) -> UsageError:
    """What is said of a name that is none of a column."""
    return UsageError(f"{table} has no column {column!r}", hint=f"its columns are: {', '.join(known)}")


def _columns(name: str, kind: ColumnKind | None) -> Iterator[Column]:
    column = F.col(quoted(name))
    if kind is None or not kind.is_told_by_text:
        yield column
    elif kind.data_type == "decimal":
        fits = column.rlike(_FITS)
        precision, scale = DIGITS
        yield F.when(fits, column.cast(f"decimal({precision},{scale})")).alias(name)
        yield F.when(~fits, column).alias(f"{name}__v_text")
    else:
        yield column.alias(name, metadata={KIND: kind.data_type})
