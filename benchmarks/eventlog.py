"""Spark's event log: the jobs of a time span, and the bytes that they read."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONF = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
"""Settings of a session with an event log, with `spark.eventLog.dir`."""


@dataclass(slots=True)
class Stretch:
    """A time span, in milliseconds as Spark counts them."""

    begun: float = 0
    ended: float = 0

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.ended - self.begun) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One Spark job."""

    what: str
    begun: int
    ended: int
    bytes_read: int

    @property
    def is_checkpoint(self) -> bool:
        """Whether the job is a checkpoint of Delta, which every tenth commit writes."""
        return "checkpoint" in self.what.lower()


@contextmanager
def stretch() -> Iterator[Stretch]:
    """Measure the time span of a block."""
    result = Stretch(begun=time.time() * 1000)
    yield result
    result.ended = time.time() * 1000


class EventLog:
    """Read the jobs of a stopped session."""

    def __init__(self, folder: Path) -> None:
        self._starts: list[dict[str, Any]] = []
        self._ends: dict[int, int] = {}
        self._reads: Counter[int] = Counter()
        self._times: dict[int, int] = {}
        self._scans: set[int] = set()
        self._sizes: list[tuple[int, int, int]] = []
        for file in folder.glob("[!.]*"):
            with file.open() as lines:
                for line in lines:
                    self._record(json.loads(line))

    def jobs(self, during: Stretch) -> list[Job]:
        """Return the jobs that started in a time span."""
        return [
            Job(
                what=_what(start),
                begun=start["Submission Time"],
                ended=self._ends.get(start["Job ID"], start["Submission Time"]),
                bytes_read=sum(self._reads[stage] for stage in start["Stage IDs"]),
            )
            for start in self._starts
            if during.begun <= start["Submission Time"] <= during.ended
        ]

    def count(self, during: Stretch) -> int:
        """Return the number of jobs in a time span, without checkpoints."""
        return sum(not job.is_checkpoint for job in self.jobs(during))

    def files_read(self, during: Stretch) -> int:
        """Return the bytes of all files that scans did not skip."""
        return sum(
            size
            for execution, metric, size in self._sizes
            if metric in self._scans and during.begun <= self._times.get(execution, 0) <= during.ended
        )

    def _record(self, event: dict[str, Any]) -> None:
        match event["Event"].rpartition(".")[2]:
            case "SparkListenerJobStart":
                self._starts.append(event)
            case "SparkListenerJobEnd":
                self._ends[event["Job ID"]] = event["Completion Time"]
            case "SparkListenerTaskEnd":
                metrics = event.get("Task Metrics") or {}
                self._reads[event["Stage ID"]] += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
            case "SparkListenerSQLExecutionStart":
                self._times[event["executionId"]] = event["time"]
                self._scans |= _sizes_in(event["sparkPlanInfo"])
            case "SparkListenerSQLAdaptiveExecutionUpdate":
                self._scans |= _sizes_in(event["sparkPlanInfo"])
            case "SparkListenerDriverAccumUpdates":
                self._sizes += [(event["executionId"], *update) for update in event["accumUpdates"]]
            case _:
                pass


def _sizes_in(plan: dict[str, Any]) -> set[int]:
    """Return the metrics of a plan with the size of files."""
    own = {item["accumulatorId"] for item in plan["metrics"] if item["name"] == "size of files read"}
    return own.union(*(_sizes_in(child) for child in plan["children"]))


def _what(start: dict[str, Any]) -> str:
    options = start.get("Properties") or {}
    return str(options.get("spark.job.description") or options.get("callSite.short") or "?").split("\n")[0]
