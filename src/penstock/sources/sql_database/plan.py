"""Decides into which ranges of its key a table is read. No Spark and no database: numbers in, ranges out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_RANGE_BYTES: Final = 8 * 1024 * 1024
MIN_RANGE_ROWS: Final = 50_000
"""What is smaller than this is not worth a connection of its own."""
CELLS_PER_RANGE: Final = 16
"""So many cells are counted for each range that is wanted."""
_SKEW_FACTOR: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRange:
    """Keys from `lower` to before `upper`, as texts; None is no bound. The keys that are null are apart."""

    lower: str | None = None
    upper: str | None = None
    is_null: bool = False


WHOLE_TABLE: Final = (PartitionRange(),)


def range_count(*, partitions: int, size: int | None = None, rows: int | None = None) -> int:
    """How many ranges a table of so many bytes or rows is worth, at most `partitions`.

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
    """The ranges that these bounds cut: all keys are in one of them, and none is in two.

    The bounds come in the order of the database; one that stands there several times cuts once.

    >>> ranges_between(["5", "9", "9"], nullable=False)[-1]
    PartitionRange(lower='9', upper=None, is_null=False)
    """
    cuts = list(dict.fromkeys(bounds))
    edges = [None, *cuts, None]
    found = tuple(PartitionRange(lower=lower, upper=upper) for lower, upper in pairwise(edges))
    return (*found, PartitionRange(is_null=True)) if nullable and cuts else found


def cell_bounds(low: int, high: int, count: int) -> tuple[int, ...]:
    """Bounds that cut the numbers from `least` to `most` into at most `count` cells of about one width.

    >>> cell_bounds(-4, 3, 4)
    (-2, 0, 2)
    """
    width = high - low + 1
    cuts = (low + width * number // count for number in range(1, count))
    return tuple(dict.fromkeys(cut for cut in cuts if cut > low))


def refined_bounds(
    bounds: Sequence[int], counts: Sequence[int], *, low: int, high: int, partitions: int
) -> tuple[int, ...]:
    """The bounds with those cells cut again that hold too much; the same bounds where none does.

    Too much is more than three times the median, and more than half of what one range is to hold. A cell of
    one number cannot be cut.
    """
    filled = [count for count in counts if count]
    if not filled:
        return tuple(bounds)
    heavy = max(_SKEW_FACTOR * median(filled), sum(counts) / partitions / 2)
    if len(filled) <= partitions:
        heavy = sum(counts) / partitions / 2
    found: set[int] = set(bounds)
    for (lower, upper), count in zip(pairwise([low, *bounds, high + 1]), counts, strict=True):
        if count > heavy:
            found.update(cell_bounds(lower, upper - 1, CELLS_PER_RANGE))
    return tuple(sorted(found))


def balanced_bounds(bounds: Sequence[int], counts: Sequence[int], *, partitions: int) -> tuple[int, ...]:
    """Those bounds that leave at most `partitions` ranges with about the same number of rows each.

    >>> balanced_bounds((10, 20, 30), (5, 5, 5, 5), partitions=2)
    (20,)
    """
    left, ranges = sum(counts), partitions
    chosen: list[int] = []
    held = 0
    for number, bound in enumerate(bounds):
        held += counts[number]
        after = counts[number + 1]
        share = left / ranges
        # The next cell goes where the range is nearer to its share.
        if held and ranges > 1 and (held >= share or held + after - share > share - held):
            chosen.append(bound)
            left, ranges, held = left - held, ranges - 1, 0
    return tuple(chosen) if left else tuple(chosen[:-1])
