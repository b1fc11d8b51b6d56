from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.progress import Collector, ThrottledProgress


class Adding(Collector):
    """Adds up what it is told."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.calls = 0

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        self.counts[name] = self.counts.get(name, 0) + inc
        self.calls += 1


@given(grown=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5), st.floats(0, 0.4))))
def test_all_counts_are_reported_at_a_minimum_interval(grown: list[tuple[str, int, float]]) -> None:
    now, counts, collector = 0.0, dict[str, int](), Adding()
    telling = ThrottledProgress(collector, interval=0.5, clock=lambda: now)

    for name, more, seconds in grown:
        now += seconds
        counts[name] = counts.get(name, 0) + more
        telling.report(counts)
    often = collector.calls
    telling.report_now(counts)

    assert collector.counts == counts
    assert often <= 2 * (1 + now / 0.5)
