"""What a side takes: seconds, processor seconds of its processes, and Spark jobs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from benchmarks.eventlog import EventLog, Stretch, stretch
from benchmarks.suite.results import BARE, JOBS, PENSTOCK, PROCESSOR, SECONDS, collect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.suite.results import Measures


def processor_seconds(process: int | None = None) -> float:
    """Return the processor seconds so far of a process (this one by default) and its running children."""
    own = psutil.Process(process)
    total = 0.0
    for item in (own, *own.children(recursive=True)):
        try:
            total += sum(item.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return total


@dataclass(slots=True)
class Turn:
    """The values of a side in a round, and its time span."""

    span: Stretch
    values: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Rounds:
    """Rounds in which the sides take turns, in one process with one Spark session."""

    rounds: list[dict[str, Turn]] = field(default_factory=list)

    def begin(self) -> None:
        """Begin a round."""
        self.rounds.append({})

    @contextmanager
    def turn(self, side: str) -> Iterator[dict[str, float]]:
        """Measure a turn of a side that runs in this process; the block may add values."""
        began = processor_seconds()
        with stretch() as span:
            turn = Turn(span)
            yield turn.values
        turn.values |= {SECONDS: span.seconds, PROCESSOR: processor_seconds() - began}
        self.rounds[-1][side] = turn
        print(f"# {side}: {span.seconds:.2f} s", flush=True)

    def add(self, side: str, values: dict[str, float]) -> None:
        """Add the values of a side that another process measured."""
        self.rounds[-1][side] = Turn(Stretch(), values)
        print(f"# {side}: {values}", flush=True)

    def measures(self, *, warming: int = 0, log: Path | None = None) -> Measures:
        """Return the values without the first rounds; with a log also the number of Spark jobs."""
        if log is not None:
            jobs = EventLog(log)
            for turns in self.rounds:
                for side in turns.keys() & {PENSTOCK, BARE}:
                    turns[side].values[JOBS] = jobs.count(turns[side].span)
        return collect({side: turn.values for side, turn in turns.items()} for turns in self.rounds[warming:])
