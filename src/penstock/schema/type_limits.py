"""Limits of a destination's column types: precision, time zones and nested types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from penstock.schema.spark_types import NESTED_TYPE_HINT

if TYPE_CHECKING:
    from penstock.schema.column import Column
    from penstock.schema.table import Table

DEFAULT_DECIMAL: Final = (38, 9)
DEFAULT_WEI: Final = (78, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeLimits:
    """The limits of the column types of a destination; the defaults limit nothing.

    >>> from penstock.schema import Column
    >>> limits = TypeLimits(decimal=(18, 4), timezones=False)
    >>> price = limits.limited(Column(name="price", data_type="decimal"))
    >>> (price.precision, price.scale), limits.limited(Column(name="at", data_type="timestamp")).timezone
    ((18, 4), False)
    """

    decimal: tuple[int, int] = DEFAULT_DECIMAL
    """Precision and scale of decimals without a precision of their own."""
    wei: tuple[int, int] = DEFAULT_WEI
    """Precision and scale of wei columns without a precision of their own."""
    timestamp: int | None = None
    """The most fractional digits of timestamps and times."""
    timezones: bool | None = None
    """False: timestamps have no time zone; True: all have one; None: as declared."""
    nested: bool = True
    """Whether columns can be structs, lists and maps; else they are JSON texts."""

    def limited(self, column: Column) -> Column:
        """Return the column as the destination can create it."""
        match column.data_type:
            case "decimal" if self.decimal != DEFAULT_DECIMAL:
                return _with_default_precision(column, self.decimal)
            case "wei" if self.wei != DEFAULT_WEI:
                return _with_default_precision(column, self.wei)
            case "timestamp" | "time":
                return self._limited_time(column)
            case "json" if not self.nested:
                return column.without_hints(NESTED_TYPE_HINT)
            case _:
                return column

    def changed_columns(self, table: Table) -> tuple[Column, ...]:
        """Return the columns of a table that are beyond the limits, within them."""
        limited = ((column, self.limited(column)) for column in table.columns.values())
        return tuple(after for before, after in limited if after is not before and after != before)

    def _limited_time(self, column: Column) -> Column:
        changed = column
        if self.timestamp is not None and (column.precision or 0) > self.timestamp:
            changed = replace(changed, precision=self.timestamp)
        if column.data_type == "timestamp" and self.timezones is not None:
            changed = replace(changed, timezone=None if self.timezones else False)
        return changed


def _with_default_precision(column: Column, precision_and_scale: tuple[int, int]) -> Column:
    if column.precision is not None:
        return column
    precision, scale = precision_and_scale
    return replace(column, precision=precision, scale=scale if column.scale is None else column.scale)
