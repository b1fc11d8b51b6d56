"""The plan of key ranges for a table: pure functions of counts and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_RANGE_BYTES: Final = 8 * 1024 * 1024
MIN_RANGE_ROWS: Final = 50_000
"""The minimum size of a range that is worth a separate connection."""
CELLS_PER_RANGE: Final = 16
"""The number of cells that are counted for each range."""
_SKEW_FACTOR: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRange:
    """Keys from `lower` to before `upper`, as text; None is unbounded. Null keys have a separate range."""

    lower: str | None = None
    upper: str | None = None
    is_null: bool = False


WHOLE_TABLE: Final = (PartitionRange(),)


def range_count(*, partitions: int, size: int | None = None, rows: int | None = None) -> int:
    """Return the number of ranges for a table of this size in bytes or rows, at most `partitions`.

    >>> range_count(partitions=8), range_count(partitions=8, rows=10)
    (8, 1)
    >>> range_count(partitions=8, size=20 * 1024 * 1024)
    2
    """
    if size is not None:
        return max(1, min(partitions, size // MIN_RANGE_BYTES))
    if rows is not None:
        return max(1, min(partitions, rows // MIN_RANGE_ROWS))
    return partitions


def ranges_between(bounds: Sequence[str], *, nullable: bool) -> tuple[PartitionRange, ...]:
    """Return the ranges between bounds; each key is in exactly one of them.

    The bounds are in the order of the database and may repeat.

    >>> ranges_between(["5", "9", "9"], nullable=False)[-1]
    PartitionRange(lower='9', upper=None, is_null=False)
    """
    cuts = list(dict.fromkeys(bounds))
    edges = [None, *cuts, None]
    ranges = tuple(PartitionRange(lower=lower, upper=upper) for lower, upper in pairwise(edges))
    return (*ranges, PartitionRange(is_null=True)) if nullable and cuts else ranges


def cell_bounds(low: int, high: int, count: int) -> tuple[int, ...]:
    """Return bounds that divide the numbers from `low` to `high` into at most `count` cells of equal width.

    >>> cell_bounds(-4, 3, 4)
    (-2, 0, 2)
    """
    width = high - low + 1
    cuts = (low + width * number // count for number in range(1, count))
    return tuple(dict.fromkeys(cut for cut in cuts if cut > low))


def refined_bounds(
    bounds: Sequence[int], counts: Sequence[int], *, low: int, high: int, partitions: int
) -> tuple[int, ...]:
    """Return the bounds with heavy cells divided again; unchanged bounds if no cell is heavy.

    A cell is heavy above three times the median and half the target of a range. A cell of one number cannot
    be divided.
    """
    filled = [count for count in counts if count]
    if not filled:
        return tuple(bounds)
    heavy = max(_SKEW_FACTOR * median(filled), sum(counts) / partitions / 2)
    if len(filled) <= partitions:
        heavy = sum(counts) / partitions / 2
    refined: set[int] = set(bounds)
    for (lower, upper), count in zip(pairwise([low, *bounds, high + 1]), counts, strict=True):
        if count > heavy:
            refined.update(cell_bounds(lower, upper - 1, CELLS_PER_RANGE))
    return tuple(sorted(refined))


def balanced_bounds(bounds: Sequence[int], counts: Sequence[int], *, partitions: int) -> tuple[int, ...]:
    """Return the bounds of at most `partitions` ranges with about the same number of rows each.

    >>> balanced_bounds((10, 20, 30), (5, 5, 5, 5), partitions=2)
    (20,)
    """
    remaining, ranges = sum(counts), partitions
    chosen: list[int] = []
    range_rows = 0
    for number, bound in enumerate(bounds):
        range_rows += counts[number]
        next_rows = counts[number + 1]
        share = remaining / ranges
        # Close the range if the next cell would move it away from its share.
        is_full = range_rows >= share or range_rows + next_rows - share > share - range_rows
        if range_rows and ranges > 1 and is_full:
            chosen.append(bound)
            remaining, ranges, range_rows = remaining - range_rows, ranges - 1, 0
    return tuple(chosen) if remaining else tuple(chosen[:-1])
