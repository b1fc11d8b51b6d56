"""Plans of waves: their duration is about the limit, and their calls keep the rate."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.extract.waves.plan import (
    MAX_ITEMS,
    PreviousWave,
    check_speculation,
    part_count,
    plan_wave,
)
from penstock.interfaces.pace import Pacer
from penstock.interfaces.work_items import RateLimit

rates = st.builds(RateLimit, st.integers(1, 10_000), st.sampled_from([1, 60, 3600]))
slots = st.integers(1, 500)
befores = st.builds(PreviousWave, items=st.integers(1, MAX_ITEMS), seconds=st.floats(0, 10_000))


class Clock:
    """A clock that advances during sleep, sometimes by a little more or less."""

    def __init__(self, errors: list[float]) -> None:
        self.now, self._errors = 0.0, errors

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        off = self._errors.pop() if self._errors else 0.0
        self.now += max(seconds + off, 1e-4)


@given(count=st.integers(0, 300), slots=slots, rate=st.none() | rates)
def test_every_item_of_a_wave_is_in_one_part(count: int, slots: int, rate: RateLimit | None) -> None:
    plan = plan_wave(slots, rate, seconds=40, previous=None)

    places = [place for share in plan.shares(count) for place in share]

    assert sorted(places) == list(range(count))
    assert all(plan.shares(count))


@given(slots=slots, before=befores)
def test_a_wave_fits_into_its_time_and_grows_by_steps(slots: int, before: PreviousWave) -> None:
    plan = plan_wave(slots, None, seconds=40, previous=before)
    expected = plan.items * before.seconds / before.items

    assert 1 <= plan.items <= max(MAX_ITEMS, slots)
    assert plan.items <= max(before.items * 8, plan.parts)
    assert expected <= 80 * (1 + 1e-9) or plan.items == slots
    assert plan.part_seconds * plan.parts / slots <= 60


@given(slots=slots, rate=rates, before=st.none() | befores)
def test_a_wave_with_a_rate_is_as_large_as_the_rate_allows(
    slots: int, rate: RateLimit, before: PreviousWave | None
) -> None:
    plan = plan_wave(slots, rate, seconds=40, previous=before)
    assert plan.interval is not None

    assert plan.parts <= plan.items <= MAX_ITEMS
    assert plan.items / plan.parts * plan.interval <= max(40, plan.interval)


@given(slots=slots, rate=rates)
def test_parts_together_keep_the_rate_at_any_times_of_their_calls(slots: int, rate: RateLimit) -> None:
    parts = part_count(rate, slots)
    plan = plan_wave(slots, rate, seconds=40, previous=None)
    assert plan.interval is not None

    # The maximum of calls of one part in a period, including both ends, times the parts.
    each = math.floor(rate.seconds / plan.interval) + 1

    assert 1 <= parts <= min(slots, rate.calls)
    assert each * parts <= rate.calls + 1
    assert parts / plan.interval >= rate.calls / rate.seconds * 0.95, "and they are not slow"


@given(st.lists(st.floats(-0.05, 0.2), max_size=50), st.floats(0.001, 2))
def test_calls_and_the_first_call_wait_for_the_interval(errors: list[float], interval: float) -> None:
    clock = Clock(errors)
    pacer = Pacer(interval, clock.read, clock.sleep)

    moments = [0.0]
    for _ in range(20):
        pacer.wait()
        moments.append(clock.now)

    assert min(after - before for before, after in pairwise(moments)) >= interval - 1e-9


@pytest.mark.parametrize("text", ["50", "0/s", "5/d", "1.5/s", "-1/s", "x/s", ""])
def test_an_invalid_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid rate limit"):
        RateLimit.parse(text)


def test_a_rate_limit_with_speculation_is_refused() -> None:
    check_speculation("orders", None, "true")
    check_speculation("orders", RateLimit(5, 1), "false")
    with pytest.raises(UsageError, match="speculation"):
        check_speculation("orders", RateLimit(5, 1), "TRUE")
