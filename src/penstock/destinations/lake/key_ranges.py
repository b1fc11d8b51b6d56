"""Key ranges of a load: literals by which a merge prunes files of a table.

A table format prunes files by literals in a condition, but not by a join.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.package.sql import literal, quote_name
from penstock.schema import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema import Table

MAX_VALUES: Final = 1_000
"""More values of a partition column than these are described by their bounds."""
MAX_TEXT_LENGTH: Final = 200
"""Longer texts are kept out of a statement."""
_ORDERED_TYPES: Final = frozenset(("text", "bigint", "decimal", "wei", "timestamp", "date"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The values of a load in one column, as text: all of them, or the lowest and the highest."""

    column: str
    sql_type: str
    low: str | None = None
    high: str | None = None
    values: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for control files."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> KeyRange:
        """Read the output of `to_dict`."""
        values = document["values"]
        return KeyRange(**{**document, "values": None if values is None else tuple(values)})

    def sql(self, alias: str) -> str | None:
        """Return the condition of rows in the range; None if the range has no bound.

        >>> KeyRange(column="id", sql_type="BIGINT", low="1", high="9").sql("t")
        "(`t`.`id` >= CAST('1' AS BIGINT) AND `t`.`id` <= CAST('9' AS BIGINT))"
        """
        name = quote_name(alias, self.column)
        if self.values is not None:
            return f"({name} IN ({', '.join(map(self._literal, self.values))}))" if self.values else "FALSE"
        bounds = [f"{name} {sign} {self._literal(text)}" for sign, text in self._bounds() if text is not None]
        return f"({' AND '.join(bounds)})" if bounds else None

    def _bounds(self) -> tuple[tuple[str, str | None], ...]:
        return (">=", self.low), ("<=", self.high)

    def _literal(self, text: str) -> str:
        return f"CAST({literal(text)} AS {self.sql_type})"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRangeQuery:
    """The query for the range of one key column of the staged rows."""

    column: str
    sql_type: str
    is_partition: bool

    def aggregates(self) -> tuple[str, ...]:
        """Return SQL for the lowest and the highest value, and for all values of a partition column."""
        name = quote_name(self.column)
        bounds = (f"CAST(min({name}) AS STRING)", f"CAST(max({name}) AS STRING)")
        values = f"array_sort(collect_set(CAST({name} AS STRING)))"
        return (
            (*bounds, f"if(size({values}) <= {MAX_VALUES}, {values}, NULL)") if self.is_partition else bounds
        )

    def to_range(self, low: str | None, high: str | None, values: Sequence[str] | None = None) -> KeyRange:
        """Return the range. The beginning of a long text is a lower bound; it has no upper bound."""
        short_values = None if values is None or any(map(_is_long, values)) else tuple(values)
        return KeyRange(
            column=self.column,
            sql_type=self.sql_type,
            low=low[:MAX_TEXT_LENGTH] if low is not None else None,
            high=None if high is None or _is_long(high) else high,
            values=short_values,
        )


def _is_long(text: str) -> bool:
    return len(text) > MAX_TEXT_LENGTH


def key_range_queries(table: Table, key_sets: Iterable[Iterable[str]]) -> tuple[KeyRangeQuery, ...]:
    """Return queries for the key columns that have an ordered type; any other column may have changed."""
    names = dict.fromkeys(name for keys in key_sets for name in keys)
    columns = [table.columns[name] for name in names if table.columns[name].data_type in _ORDERED_TYPES]
    return tuple(
        KeyRangeQuery(column=column.name, sql_type=spark_type(column), is_partition=column.has("partition"))
        for column in columns
    )


def pruning_condition(
    ranges: Iterable[KeyRange], key_sets: Sequence[Sequence[str]], alias: str
) -> str | None:
    """Return a condition that holds for every row with a key of the load; None if any row may have one."""
    conditions = {key_range.column: key_range.sql(alias) for key_range in ranges}
    bounds = [[text for name in keys if (text := conditions.get(name))] for keys in key_sets]
    if not bounds or not all(bounds):
        return None
    alternatives = [" AND ".join(texts) for texts in bounds]
    if len(alternatives) == 1:
        return alternatives[0]
    return f"({' OR '.join(f'({alternative})' for alternative in alternatives)})"
