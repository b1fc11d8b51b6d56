"""Windows of a range are adjacent and do not overlap."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.sources import windows


@given(st.integers(-1000, 1000), st.integers(0, 500), st.integers(1, 100))
def test_every_number_is_in_one_window(start: int, length: int, every: int) -> None:
    pairs = list(windows(start, start + length, every))

    assert [number for first, last in pairs for number in range(first, last)] == list(
        range(start, start + length)
    )
    assert all(0 < last - first <= every for first, last in pairs)


def test_windows_of_dates_and_datetimes() -> None:
    days = list(windows(date(2024, 1, 30), date(2024, 2, 2), 2))
    hours = list(
        windows(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 5, tzinfo=UTC), timedelta(hours=2))
    )

    assert days == [(date(2024, 1, 30), date(2024, 2, 1)), (date(2024, 2, 1), date(2024, 2, 2))]
    assert [first.hour for first, _ in hours] == [0, 2, 4]
    assert hours[-1][1].hour == 5


def test_windows_end_at_the_end_of_the_calendar() -> None:
    assert list(windows(date(9999, 12, 30), date.max, 30)) == [(date(9999, 12, 30), date.max)]


@pytest.mark.parametrize(
    ("start", "end", "every"),
    [
        (0, 10, 0),
        (0, 10, -1),
        (0, 10, timedelta(days=1)),
        (date(2024, 1, 1), date(2024, 1, 2), timedelta(hours=1)),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), 1),
        (date(2024, 1, 1), datetime(2024, 1, 2, tzinfo=UTC), 1),
        ("a", "b", 1),
        (True, False, 1),
    ],
)
def test_ranges_without_windows_are_rejected(start: Any, end: Any, every: Any) -> None:
    with pytest.raises(UsageError, match="window"):
        list(windows(start, end, every))
