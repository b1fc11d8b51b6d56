"""Ranges of the pages of a table, which several connections read. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from sqlglot import exp

MIN_RANGE_BYTES: Final = 16 * 1024 * 1024
"""The size of a range that is worth a connection."""
_FIRST_WITH_RANGE_SCANS: Final = 140_000
_NEWER_LOAD: Final = "a load was committed after this frame was created: create it again"


def page_ranges(size: int, page_size: int, server_version: int, *, most: int) -> list[exp.Condition]:
    """Return the conditions of at most so many ranges; none for a table that one connection reads.

    Before version 14 Postgres would read the whole table for each range.

    >>> [condition.sql() for condition in page_ranges(40 * 1024 * 1024, 8192, 150_000, most=8)]
    ["ctid < '(2560,0)'", "ctid >= '(2560,0)'"]
    """
    count = min(most, size // MIN_RANGE_BYTES)
    if count <= 1 or server_version < _FIRST_WITH_RANGE_SCANS:
        return []
    pages = size // page_size
    cuts = [pages * number // count for number in range(1, count)]
    return [_between(first, last) for first, last in pairwise([None, *cuts, None])]


def _between(first: int | None, last: int | None) -> exp.Condition:
    """Return the condition of rows from a page to before another one; the last range has no end."""
    place = exp.column("ctid")
    conditions: list[exp.Condition] = (
        [] if first is None else [exp.GTE(this=place, expression=_start_of(first))]
    )
    if last is not None:
        conditions.append(exp.LT(this=place.copy(), expression=_start_of(last)))
    return exp.and_(*conditions)


def _start_of(page: int) -> exp.Literal:
    return exp.Literal.string(f"({page},0)")


def no_newer_load(loads: exp.Table, count: int) -> exp.Condition:
    """Return the condition that the table of loads has so many rows; Postgres raises an error otherwise.

    Each range is read at a separate moment. So no range has rows of a load that another one lacks.
    """
    loads_now = exp.select(exp.Count(this=exp.Star())).from_(loads.copy()).subquery()
    is_same = exp.EQ(this=loads_now, expression=exp.Literal.number(count))
    # The text of the second case cannot be cast, and Postgres shows it.
    verdict = exp.Case().when(is_same, exp.Literal.string("true")).else_(exp.Literal.string(_NEWER_LOAD))
    return exp.Cast(this=verdict, to=exp.DataType.build("boolean"))
