"""Conditions of relations: for frames of Spark, and for queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from pyspark.sql import functions as F
from sqlglot import exp

if TYPE_CHECKING:
    from pyspark.sql import Column

    from penstock.dataset.join_path import Hop

Comparison = Literal["eq", "ne", "gt", "lt", "gte", "lte", "in", "not_in"]

_OPERATORS: Final[dict[str, type[exp.Binary]]] = {
    "eq": exp.EQ,
    "ne": exp.NEQ,
    "gt": exp.GT,
    "lt": exp.LT,
    "gte": exp.GTE,
    "lte": exp.LTE,
}


def path_conditions(path: list[Hop], names: list[str]) -> list[exp.Condition]:
    """Return the condition of each join; the last table may have an alias."""
    return [
        exp.and_(*(_name(column, hop.before).eq(_name(other, name)) for column, other in hop.pairs))
        for hop, name in zip(path, names, strict=True)
    ]


def _name(name: str, table: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def query_condition(column: exp.Column, operator: Comparison, value: Any) -> Any:
    """Return a comparison in a query."""
    if operator in _OPERATORS:
        return _OPERATORS[operator](this=column, expression=exp.convert(value))
    is_in = column.isin(*map(exp.convert, value))
    return is_in if operator == "in" else exp.not_(is_in)


def frame_condition(column: Column, operator: Comparison, value: Any) -> Column:
    """Return a comparison of a column of a frame."""
    match operator:
        case "eq":
            return column == F.lit(value)
        case "ne":
            return column != F.lit(value)
        case "gt":
            return column > F.lit(value)
        case "lt":
            return column < F.lit(value)
        case "gte":
            return column >= F.lit(value)
        case "lte":
            return column <= F.lit(value)
        case "in":
            return column.isin(list(value))
        case "not_in":
            return ~column.isin(list(value))
        case _:
            assert_never(operator)
