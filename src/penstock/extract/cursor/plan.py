"""Decides, for one cursor value, whether its row is new. No state, no rows: values in, a verdict out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces.cursor_options import CursorOptions

RangePosition = Literal["in", "before", "after"]
"""Where a row lies: in the range, before its start, or after its end."""

MAX_HASHES_PER_CURSOR: Final = 10_000
"""So many hashes of one cursor stand in the state at most."""
MAX_HASHES_IN_STATE: Final = 40_000
"""So many hashes of all cursors: less than a megabyte of text."""


class Verdict(NamedTuple):
    """What is to be done with a row."""

    position: RangePosition
    last_value: Any
    """The last value after this row."""
    advances: bool = False
    """Whether the last value has moved: what was known at the old one no longer matters."""
    at_start: bool = False
    """Whether the row lies at the start value: it may have been read by an earlier run."""
    at_last: bool = False
    """Whether the row lies at the last value: the next run may read it again."""


def classify_value(value: Any, *, start: Any, last: Any, end: Any, terms: CursorOptions) -> Verdict:
    """Look at one value. `start` is from where this run reads, `last` how far it has come.

    >>> from penstock.interfaces.cursor_options import CursorOptions
    >>> classify_value(7, start=5, last=6, end=None, terms=CursorOptions())
    Verdict(position='in', last_value=7, advances=True, at_start=False, at_last=True)
    >>> classify_value(4, start=5, last=6, end=None, terms=CursorOptions()).position
    'before'
    """
    pick = terms.last_value_func
    if end is not None and (
        pick((value, end)) != end or (terms.range_end == "open" and pick((value,)) == end)
    ):
        return Verdict("after", last)
    furthest = pick((value,) if last is None else (value, last))
    if furthest != last:
        return Verdict("in", furthest, advances=True, at_last=True)
    own = pick((value,))
    at_start = start is not None and own == start
    if at_start and terms.range_start == "open":
        return Verdict("before", last)
    if start is not None and not at_start and pick((value, start)) == start:
        return Verdict("before", last)
    return Verdict("in", last, at_start=at_start, at_last=own == last)


def cursors_to_move_out(counts: Sequence[int], *, other_hashes: int = 0) -> frozenset[int]:
    """Which cursors put their hashes into a file: those with too many, then the largest until all fit.

    `elsewhere` counts the hashes of cursors that are not read this time.

    >>> sorted(cursors_to_move_out([10_001, 5]))
    [0]
    """
    out = {number for number, count in enumerate(counts) if count > MAX_HASHES_PER_CURSOR}
    left = sorted((count, number) for number, count in enumerate(counts) if number not in out)
    total = other_hashes + sum(count for count, _ in left)
    while total > MAX_HASHES_IN_STATE and left and left[-1][0]:
        count, number = left.pop()
        out.add(number)
        total -= count
    return frozenset(out)
