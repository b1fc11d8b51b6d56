"""The plan of a wave: its number of items and parts, and the pace of each part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.interfaces.work_items import RateLimit

MAX_ITEMS: Final = 10_000
"""Maximum of items in one wave: they are sent with the job."""
MAX_BYTES: Final = 8 << 20
"""Maximum of bytes of the items in one wave, as JSON."""
_MAX_GROWTH: Final = 8
_FIRST_ITEMS_PER_SLOT: Final = 8
_FIRST_WAVE_SECONDS: Final = 5.0
_PARTS_PER_SLOT: Final = 4
_LONG_WAVE_SECONDS: Final = 10.0
_TIME_FACTOR: Final = 1.5
# A margin for late reads of the clock, so that no two calls are too close.
_RATE_MARGIN: Final = 1.02


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousWave:
    """The previous wave: its number of items, and its duration."""

    items: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePlan:
    """One wave: the maximum of items, the number of parts, and the deadline and pace of each part."""

    items: int
    parts: int
    part_seconds: float
    """After this time a part begins no further item."""
    interval: float | None = None
    """Seconds between two calls of a part."""

    def shares(self, count: int) -> list[range]:
        """Return the indexes of the items of each part, without empty parts.

        >>> WavePlan(items=9, parts=2, part_seconds=1).shares(5)
        [range(0, 5, 2), range(1, 5, 2)]
        """
        return [range(part, count, self.parts) for part in range(min(self.parts, count))]


def plan_wave(
    slots: int, rate: RateLimit | None, *, seconds: float, previous: PreviousWave | None
) -> WavePlan:
    """Plan the next wave: as many items as fit into the time, by the rate or by the previous wave.

    The first wave is small, so that errors show early and the duration of an item is measured. Later waves
    are at most eight times the previous. An overestimate is harmless: parts stop at their deadline.

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
    # More parts than slots balance quick and slow items; not worth it for short waves.
    is_long = previous is not None and items * previous.seconds / previous.items > _LONG_WAVE_SECONDS
    parts_per_slot = _PARTS_PER_SLOT if is_long else 1
    part_seconds = span * _TIME_FACTOR / parts_per_slot
    return WavePlan(items=items, parts=slots * parts_per_slot, part_seconds=part_seconds)


def part_count(rate: RateLimit, slots: int) -> int:
    """Return the number of parts that keep the rate limit whatever the times of their calls.

    In any period each part makes its share of the calls, rounded up; together at most one above the limit.

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
    """Raise an error if speculation could run a task with a rate limit twice; `setting` is that of Spark."""
    if rate is not None and (setting or "").strip().lower() == "true":
        raise UsageError(
            f"{resource} has a rate limit, and spark.speculation=true repeats calls",
            hint="start Spark with spark.speculation=false, or remove rate_limit",
        )


def _item_count(parts: int, seconds: float, previous: PreviousWave) -> int:
    fits = int(previous.items * seconds / max(previous.seconds, 0.001))
    # The duration includes the start of the job, so a short wave may be followed by a larger one.
    least = previous.items * 2 if previous.seconds < seconds else parts
    return min(max(min(fits, previous.items * _MAX_GROWTH), least, parts), max(MAX_ITEMS, parts))
