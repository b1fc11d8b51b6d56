"""A progress collector that records its calls."""

from __future__ import annotations

from collections import Counter

from penstock.interfaces.progress import Collector


class RecordingCollector(Collector):
    """A collector of counts, and of states in the order of their calls."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.totals: dict[str, int] = {}
        self.states: dict[str, list[str]] = {}
        self.sizes: dict[str, int | None] = {}
        self.messages: list[str] = []
        self.steps: list[str] = []

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        self.counts[name] += inc
        if total is not None:
            self.totals[name] = total
        if inc_total is not None:
            self.totals[name] = self.totals.get(name, 0) + inc_total

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        self.states.setdefault(name, []).append(state)
        self.sizes[name] = size
        self.messages += [message] if message is not None else []

    def _start(self, step: str) -> None:
        super()._start(step)
        self.steps.append(step)
