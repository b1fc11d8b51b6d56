"""How many items a wave has, into how many parts it is cut, and how each part keeps to the rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.interfaces.work_items import RateLimit

MAX_ITEMS: Final = 10_000
"""Items of one wave: they travel with the job."""
MAX_BYTES: Final = 8 << 20
"""Bytes of the items of one wave, as JSON."""
_MAX_GROWTH: Final = 8
_FIRST_ITEMS_PER_SLOT: Final = 8
_FIRST_WAVE_SECONDS: Final = 5.0
_PARTS_PER_SLOT: Final = 4
_LONG_WAVE_SECONDS: Final = 10.0
_TIME_FACTOR: Final = 1.5
# A clock that is read late must not bring two calls too near.
_RATE_MARGIN: Final = 1.02


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousWave:
    """The wave before: how many items it did, and how many seconds it took."""

    items: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePlan:
    """One wave: how many items at most, in how many parts, and how each part behaves."""

    items: int
    parts: int
    part_seconds: float
    """After these a part begins no further item."""
    interval: float | None = None
    """Seconds between two calls of a part."""

    def shares(self, count: int) -> list[range]:
        """Which items each part takes, by their place in the wave; parts without items are left out.

        >>> WavePlan(items=9, parts=2, part_seconds=1).shares(5)
        [range(0, 5, 2), range(1, 5, 2)]
        """
        return [range(part, count, self.parts) for part in range(min(self.parts, count))]


def plan_wave(
    slots: int, rate: RateLimit | None, *, seconds: float, previous: PreviousWave | None
) -> WavePlan:
    """The next wave: what fits into the time, judged by the rate, or by the wave before.

    The first one is small: what breaks breaks soon, and how long an item takes is known after it. Later ones
    are at most a few times as large as the one before. A guess that was too large does no harm: parts stop.

    >>> plan_wave(2, None, seconds=40, previous=None)
    WavePlan(items=16, parts=2, part_seconds=7.5, interval=None)
    >>> plan_wave(2, None, seconds=40, previous=PreviousWave(items=16, seconds=0.5)).items
    128
    """
    span = seconds if previous else min(seconds, _FIRST_WAVE_SECONDS)
    if rate is not None:
        parts = part_count(rate, slots)
        interval = parts * rate.seconds / rate.calls * _RATE_MARGIN
        return WavePlan(
            items=min(parts * max(1, int(span / interval)), MAX_ITEMS),
            parts=parts,
            part_seconds=span * _TIME_FACTOR,
            interval=interval,
        )
    items = _item_count(slots, seconds, previous) if previous else slots * _FIRST_ITEMS_PER_SLOT
    # More parts than slots, so that a slot with quick items takes more of them; not where they are soon done.
    is_long = previous is not None and items * previous.seconds / previous.items > _LONG_WAVE_SECONDS
    each = _PARTS_PER_SLOT if is_long else 1
    return WavePlan(items=items, parts=slots * each, part_seconds=span * _TIME_FACTOR / each)


def part_count(rate: RateLimit, slots: int) -> int:
    """As many parts as keep the limit whatever moments they choose.

    Each makes its share of the calls in any stretch of time, rounded up; together at most one above.

    >>> from penstock.interfaces.work_items import RateLimit
    >>> [part_count(RateLimit(50, 1), slots) for slots in (1, 2, 8, 100)]
    [1, 2, 5, 50]
    """
    fitting = (
        parts
        for parts in range(min(slots, rate.calls), 0, -1)
        if parts * math.ceil(rate.calls / parts) <= rate.calls + 1
    )
    return next(fitting)


def check_speculation(resource: str, rate: RateLimit | None, setting: str | None) -> None:
    """With a rate limit no task may run twice; `said` is the setting of Spark."""
    if rate is not None and (setting or "").strip().lower() == "true":
        raise UsageError(
            f"{resource} has a rate limit, and speculation makes calls twice",
            hint="start Spark with spark.speculation=false, or leave rate_limit out",
        )


def _item_count(parts: int, seconds: float, previous: PreviousWave) -> int:
    fits = int(previous.items * seconds / max(previous.seconds, 0.001))
    # Part of the time went into starting: a wave that was short enough may be followed by a larger one.
    least = previous.items * 2 if previous.seconds < seconds else parts
    return min(max(min(fits, previous.items * _MAX_GROWTH), least, parts), max(MAX_ITEMS, parts))
