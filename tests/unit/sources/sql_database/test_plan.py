"""Key ranges: each key is in exactly one range, and ranges are balanced."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.sql_database.plan import (
    CELLS_PER_RANGE,
    MIN_RANGE_ROWS,
    WHOLE_TABLE,
    PartitionRange,
    balanced_bounds,
    cell_bounds,
    range_count,
    ranges_between,
    refined_bounds,
)

keys = st.lists(st.integers(-(10**12), 10**12) | st.integers(-5, 5), min_size=1, max_size=400)


def homes(key: int | None, ranges: tuple[PartitionRange, ...]) -> int:
    """How many ranges a key is in."""
    if key is None:
        return sum(key_range.is_null for key_range in ranges)
    return sum(
        not key_range.is_null
        and (key_range.lower is None or key >= int(key_range.lower))
        and (key_range.upper is None or key < int(key_range.upper))
        for key_range in ranges
    )


def count(row_keys: list[int], bounds: tuple[int, ...]) -> list[int]:
    counts = [0] * (len(bounds) + 1)
    for key in row_keys:
        counts[bisect_right(bounds, key)] += 1
    return counts


def planned(row_keys: list[int], partitions: int, rounds: int = 12) -> tuple[int, ...]:
    least, most = min(row_keys), max(row_keys)
    bounds = cell_bounds(least, most, partitions * CELLS_PER_RANGE)
    for _ in range(rounds):
        cut = refined_bounds(bounds, count(row_keys, bounds), low=least, high=most, partitions=partitions)
        if cut == bounds:
            break
        bounds = cut
    return balanced_bounds(bounds, count(row_keys, bounds), partitions=partitions)


@given(keys, st.integers(1, 16))
def test_every_key_is_in_one_range(row_keys: list[int], partitions: int) -> None:
    ranges = ranges_between([str(bound) for bound in planned(row_keys, partitions)], nullable=True)

    # Keys that came after the bounds were asked for have a range as well.
    for key in (*row_keys, min(row_keys) - 1, max(row_keys) + 1, 10**18, -(10**18)):
        assert homes(key, ranges) == 1
    assert homes(None, ranges) == (1 if len(ranges) > 1 else 0)


@given(keys, st.integers(1, 16))
def test_no_range_is_empty_and_their_number_is_limited(row_keys: list[int], partitions: int) -> None:
    bounds = planned(row_keys, partitions)

    assert len(bounds) < partitions or not bounds
    assert list(bounds) == sorted(set(bounds))
    assert all(count(row_keys, bounds))


@given(keys, st.integers(2, 8))
def test_no_range_is_much_larger_than_its_share(row_keys: list[int], partitions: int) -> None:
    bounds = planned(row_keys, partitions)

    heaviest = max(row_keys.count(key) for key in set(row_keys))
    share = len(row_keys) / partitions
    assert max(count(row_keys, bounds)) <= 2 * max(share, heaviest) + 1


def test_a_value_of_most_rows_has_a_separate_range() -> None:
    row_keys = [7] * 900 + list(range(1000, 1100))

    bounds = planned(row_keys, 4)

    assert max(count(row_keys, bounds)) == 900
    assert len(bounds) >= 1


def test_a_skewed_key_is_read_in_equal_ranges() -> None:
    row_keys = [2**number // 7 for number in range(60)] + list(range(5000))

    counts = count(row_keys, planned(row_keys, 8))

    assert len(counts) == 8
    assert max(counts) <= 3 * sorted(counts)[4]


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**15), st.integers(1, 300))
def test_cell_bounds_are_between_low_and_high(least: int, width: int, wanted: int) -> None:
    bounds = cell_bounds(least, least + width, wanted)

    assert len(bounds) < wanted or not bounds
    assert all(key_range < other for key_range, other in pairwise((least, *bounds, least + width + 1)))


@given(st.lists(st.text(max_size=3)))
def test_bounds_keep_the_order_of_the_database(cuts: list[str]) -> None:
    ranges = ranges_between(cuts, nullable=False)

    assert ranges[0].lower is None
    assert ranges[-1].upper is None
    assert all(key_range.upper == other.lower for key_range, other in pairwise(ranges))


def test_an_empty_table_is_read_as_one_range() -> None:
    assert ranges_between([], nullable=True) == WHOLE_TABLE
    assert refined_bounds((), [0], low=0, high=9, partitions=4) == ()
    assert range_count(partitions=8, rows=0) == 1


def test_a_small_table_is_read_by_one_connection() -> None:
    assert range_count(partitions=8, rows=MIN_RANGE_ROWS) == 1
    assert range_count(partitions=8, rows=MIN_RANGE_ROWS * 3) == 3
    assert range_count(partitions=8, size=0) == 1
