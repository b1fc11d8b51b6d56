"""The decision whether a row is new, from values alone, and the limits of hashes in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces.cursor_options import CursorOptions

RangePosition = Literal["in", "before", "after"]
"""The position of a row: in the range, before its start, or after its end."""

MAX_HASHES_PER_CURSOR: Final = 10_000
"""Maximum hashes of one cursor in the state."""
MAX_HASHES_IN_STATE: Final = 40_000
"""Maximum hashes of all cursors in the state: less than a megabyte of text."""


class Verdict(NamedTuple):
    """The decision for one row."""

    position: RangePosition
    last_value: Any
    """The last value after this row."""
    advances: bool = False
    """Whether the last value has advanced: hashes of the old one are obsolete."""
    at_start: bool = False
    """Whether the row is at the start value: an earlier run may have read it."""
    at_last: bool = False
    """Whether the row is at the last value: the next run may read it again."""


def classify_value(value: Any, *, start: Any, last: Any, end: Any, options: CursorOptions) -> Verdict:
    """Classify one value. This run reads from `start` and has come as far as `last`.

    >>> from penstock.interfaces.cursor_options import CursorOptions
    >>> classify_value(7, start=5, last=6, end=None, options=CursorOptions())
    Verdict(position='in', last_value=7, advances=True, at_start=False, at_last=True)
    >>> classify_value(4, start=5, last=6, end=None, options=CursorOptions()).position
    'before'
    """
    pick = options.last_value_func
    if end is not None and (
        pick((value, end)) != end or (options.range_end == "open" and pick((value,)) == end)
    ):
        return Verdict("after", last)
    furthest = pick((value,) if last is None else (value, last))
    if furthest != last:
        return Verdict("in", furthest, advances=True, at_last=True)
    own = pick((value,))
    at_start = start is not None and own == start
    if at_start and options.range_start == "open":
        return Verdict("before", last)
    if start is not None and not at_start and pick((value, start)) == start:
        return Verdict("before", last)
    return Verdict("in", last, at_start=at_start, at_last=own == last)


def cursors_to_move_out(counts: Sequence[int], *, other_hashes: int = 0) -> frozenset[int]:
    """Return the cursors whose hashes move to a file: those over the limit, then the largest until all fit.

    `other_hashes` counts the hashes of cursors that this run does not read.

    >>> sorted(cursors_to_move_out([10_001, 5]))
    [0]
    """
    moving = {number for number, count in enumerate(counts) if count > MAX_HASHES_PER_CURSOR}
    staying = sorted((count, number) for number, count in enumerate(counts) if number not in moving)
    total = other_hashes + sum(count for count, _ in staying)
    while total > MAX_HASHES_IN_STATE and staying and staying[-1][0]:
        count, number = staying.pop()
        moving.add(number)
        total -= count
    return frozenset(moving)
