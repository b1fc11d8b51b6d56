"""Decides into which ranges of its key a table is read. No Spark and no database: numbers in, ranges out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RANGE_BYTES: Final = 8 * 1024 * 1024
RANGE_ROWS: Final = 50_000
"""What is smaller than this is not worth a connection of its own."""
CELLS: Final = 16
"""So many cells are counted for each range that is wanted."""
_SKEWED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Keys from `lower` to before `upper`, as texts; None is no bound. The keys that are null are apart."""

    lower: str | None = None
    upper: str | None = None
    is_null: bool = False


WHOLE: Final = (Range(),)


def worth(*, partitions: int, size: int | None = None, rows: int | None = None) -> int:
    """How many ranges a table of so many bytes or rows is worth, at most `partitions`.

    >>> worth(partitions=8, size=20 * 1024 * 1024), worth(partitions=8, rows=10), worth(partitions=8)
    (2, 1, 8)
    """
    if size is not None:
        return max(1, min(partitions, size // RANGE_BYTES))
    if rows is not None:
        return max(1, min(partitions, rows // RANGE_ROWS))
    return partitions


def ranges_between(bounds: Sequence[str], *, nullable: bool) -> tuple[Range, ...]:
    """The ranges that these bounds cut: all keys are in one of them, and none is in two.

    The bounds come in the order of the database; one that stands there several times cuts once.

    >>> ranges_between(["5", "9", "9"], nullable=False)[-1]
    Range(lower='9', upper=None, is_null=False)
    """
    cuts = list(dict.fromkeys(bounds))
    edges = [None, *cuts, None]
    found = tuple(Range(lower=lower, upper=upper) for lower, upper in pairwise(edges))
    return (*found, Range(is_null=True)) if nullable and cuts else found


def cells(least: int, most: int, count: int) -> tuple[int, ...]:
    """Bounds that cut the numbers from `least` to `most` into at most `count` cells of about one width.

    >>> cells(-4, 3, 4)
    (-2, 0, 2)
    """
    width = most - least + 1
    cuts = (least + width * number // count for number in range(1, count))
    return tuple(dict.fromkeys(cut for cut in cuts if cut > least))


def finer(
    bounds: Sequence[int], counts: Sequence[int], *, least: int, most: int, partitions: int
) -> tuple[int, ...]:
    """The bounds with those cells cut again that hold too much; the same bounds where none does.

    Too much is more than three times the median, and more than half of what one range is to hold. A cell of
    one number cannot be cut.
    """
    filled = [count for count in counts if count]
    if not filled:
        return tuple(bounds)
    heavy = max(_SKEWED * median(filled), sum(counts) / partitions / 2)
    if len(filled) <= partitions:
        heavy = sum(counts) / partitions / 2
    found: set[int] = set(bounds)
    for (lower, upper), count in zip(pairwise([least, *bounds, most + 1]), counts, strict=True):
        if count > heavy:
            found.update(cells(lower, upper - 1, CELLS))
    return tuple(sorted(found))


def packed(bounds: Sequence[int], counts: Sequence[int], *, partitions: int) -> tuple[int, ...]:
    """Those bounds that leave at most `partitions` ranges with about the same number of rows each.

    >>> packed((10, 20, 30), (5, 5, 5, 5), partitions=2)
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
