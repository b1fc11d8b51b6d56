"""Runs the waves of a resource: each is one Spark job that writes rows to a folder, and a checkpoint."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter, deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.config import logger, redact
from penstock.errors import MissingOnExecutors, ResourceFailed, RowNotEncodable, WaveFailed
from penstock.extract.nodes import LimitCounter
from penstock.extract.waves.checkpoints import Wave, WaveCheckpoints
from penstock.extract.waves.driver import item_limit
from penstock.extract.waves.executor_task import (
    FAILED_PART,
    OUTPUT_SCHEMA,
    QUARANTINE_PART,
    ROWS_PART,
    UNSTARTED_PART,
)
from penstock.extract.waves.items import iter_work_items
from penstock.extract.waves.plan import MAX_BYTES, PreviousWave, check_speculation, plan_wave
from penstock.extract.waves.serialize import serialize_resource
from penstock.spark.observation import observe_frame
from penstock.spark.paths import spark_path
from penstock.spark.presets import SAFE_COMMIT_CONF
from penstock.spark.probe import count_task_slots
from penstock.spark.serialization import RemoteTraceback, serialized_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.extract.plan import Workload
    from penstock.extract.waves.items import WorkItem
    from penstock.extract.waves.plan import WavePlan
    from penstock.extract.waves.serialize import SerializedResource
    from penstock.extract.waves.split import WaveResource
    from penstock.interfaces.source import Stream
    from penstock.package import Package

_PART, _ROW, _SIZE = "part", "row", "size"
_STATIC_PARTS: Final = (ROWS_PART, QUARANTINE_PART, UNSTARTED_PART, FAILED_PART)
_SLOT_PROBE_INTERVAL: Final = 8
_WRITE_OPTIONS: Final = {
    "compression": "zstd",
    # A task that dies while it commits must not leave half of its files.
    **SAFE_COMMIT_CONF,
    "parquet.block.size": str(32 << 20),
}
_log = logger("penstock.extract")


def run_waves(
    wave_resource: WaveResource,
    package: Package,
    *,
    spark: SparkSession,
    workload: Workload,
    between_waves: Callable[[Sequence[Wave]], None],
) -> list[Wave]:
    """Call the function of a resource for every pending work item; return all waves, old and new.

    `between_waves` is called with the waves so far, before each wave and before each checkpoint.
    """
    rate = wave_resource.stream.work.rate if wave_resource.stream.work else None
    check_speculation(wave_resource.stream.name, rate, spark.conf.get("spark.speculation", "false"))
    serialized = serialize_resource(
        wave_resource.stream, wave_resource.bound, keeps_bad_rows=workload.on_bad_row == "quarantine"
    )
    checkpoints = _open_checkpoints(wave_resource, package)
    backlog = Backlog(wave_resource.stream, done_counts=checkpoints.done_counts())
    previous: PreviousWave | None = None
    slots = workload.slots or 1
    for number in count():
        # Executors start late, and their number changes on some clusters; the count is a Spark job.
        if workload.slots is None and (number <= 1 or number % _SLOT_PROBE_INTERVAL == 0):
            slots = count_task_slots(spark)
        plan = plan_wave(slots, rate, seconds=workload.wave_seconds, previous=previous)
        between_waves(checkpoints.waves)
        items = backlog.take(plan.items)
        if not items:
            break
        target = _WaveTarget(package=package, identity=wave_resource.identity, number=checkpoints.next_number)
        wave, unstarted = _run_wave(serialized, items, plan, target, spark)
        between_waves(checkpoints.waves)
        if not checkpoints.add(wave):
            raise WaveFailed(resource=serialized.resource, wave=wave.number, reason="another run has done it")
        backlog.return_items(unstarted)
        previous = PreviousWave(items=len(wave.items), seconds=wave.seconds)
        _log.info(
            "%s: wave %d, %d items, %d rows in %.1f s",
            *(serialized.resource, wave.number, len(wave.items), sum(wave.rows.values()), wave.seconds),
        )
    return checkpoints.waves


def _open_checkpoints(wave_resource: WaveResource, package: Package) -> WaveCheckpoints:
    """Open the checkpoints, without waves of items that the parent has not yielded in this run."""
    checkpoints = WaveCheckpoints(package.store, wave_resource.identity)
    if wave_resource.spool is not None and checkpoints.waves:
        wanted = Counter(item.digest for item in iter_work_items(wave_resource.spool.items))
        if dropped := checkpoints.keep_wanted(wanted):
            name = wave_resource.stream.name
            _log.info("%s: %d waves are repeated, because their items have changed", name, dropped)
    return checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class _WaveTarget:
    """The destination of a wave: each attempt writes to a new folder."""

    package: Package
    identity: str
    number: int

    def new_folder(self) -> str:
        return f"data/waves/{self.identity}/{self.number:06d}-{uuid.uuid4().hex[:12]}"


def _run_wave(
    serialized: SerializedResource,
    items: Sequence[WorkItem],
    plan: WavePlan,
    target: _WaveTarget,
    spark: SparkSession,
) -> tuple[Wave, list[WorkItem]]:
    """Run one job; return the wave, and the items that it did not begin in time."""
    started = time.monotonic()
    folder = target.new_folder()
    path = spark_path(f"{target.package.path}/{folder}")
    parts = min(plan.parts, len(items))
    task = serialized.task([item.value for item in items], plan)
    output = spark.range(0, parts, 1, parts).mapInArrow(serialized_runner(task), OUTPUT_SCHEMA)
    try:
        rows, sizes = _write(output, path, spark, names_tables=serialized.has_dynamic_tables)
        if rows.get(FAILED_PART):
            raise_remote_error(serialized.resource, _read_texts(spark, path, FAILED_PART, limit=1)[0])
        unstarted = (
            {int(index) for index in _read_texts(spark, path, UNSTARTED_PART)}
            if rows.get(UNSTARTED_PART)
            else set()
        )
    except PySparkException as error:
        reason = redact(str(error).strip().split("\n", 1)[0])
        raise WaveFailed(resource=serialized.resource, wave=target.number, reason=reason) from error
    row_counts = {part: count for part, count in rows.items() if part != UNSTARTED_PART and count}
    wave = Wave(
        number=target.number,
        folder=folder,
        items=[item.digest for index, item in enumerate(items) if index not in unstarted],
        files=parts,
        seconds=round(time.monotonic() - started, 3),
        rows=row_counts,
        sizes={part: sizes[part] for part in row_counts},
    )
    return wave, [items[index] for index in sorted(unstarted)]


def _write(
    frame: DataFrame, path: str, spark: SparkSession, *, names_tables: bool
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Write the output of a wave; return rows and bytes of text by part."""
    aggregates = {
        name: column
        for part in _STATIC_PARTS
        for name, column in (
            (part, F.count_if(F.col(_PART) == part)),
            (f"{_SIZE}_{part}", F.sum(F.when(F.col(_PART) == part, F.octet_length(_ROW)))),
        )
    }
    counted, observation = observe_frame(frame, {f"of_{name}": column for name, column in aggregates.items()})
    counted.write.mode("overwrite").partitionBy(_PART).options(**_WRITE_OPTIONS).parquet(path)
    observed = None if names_tables else observation.values()
    if observed is not None:
        rows = {part: observed[f"of_{part}"] for part in _STATIC_PARTS}
        return rows, {part: observed[f"of_{_SIZE}_{part}"] or 0 for part in _STATIC_PARTS}
    files = spark.read.schema(f"{_ROW} string, {_PART} string").parquet(path)
    size = F.sum(F.octet_length(_ROW)).alias(_SIZE)
    counts = files.groupBy(_PART).agg(F.count(F.lit(1)).alias(_ROW), size).collect()
    return {row[_PART]: row[_ROW] for row in counts}, {row[_PART]: row[_SIZE] for row in counts}


def _read_texts(spark: SparkSession, path: str, part: str, *, limit: int | None = None) -> list[str]:
    texts = spark.read.schema(f"{_ROW} string").parquet(f"{path}/{_PART}={part}")
    return [row[_ROW] for row in (texts if limit is None else texts.limit(limit)).collect()]


def raise_remote_error(resource: str, report: str) -> None:
    """Raise the error that an executor reported."""
    error: dict[str, Any] = json.loads(report)
    cause, item = redact(error["cause"]), redact(error["item"])
    remote = RemoteTraceback(redact(error["traceback"]))
    if error["is_row"]:
        raise RowNotEncodable(resource=resource, item=f"of item {item}", cause=cause) from remote
    if error["module"]:
        raise MissingOnExecutors(resource=resource, module=error["module"]) from remote
    response = (error["url"], error["status"], error["body"]) if error["status"] else None
    raise ResourceFailed.for_response(
        resource=resource, item=item, cause=cause, traceback=str(remote), response=response
    ) from remote


class Backlog:
    """The pending work items of a resource; at most those of one wave are in memory."""

    def __init__(self, stream: Stream, *, done_counts: Counter[str]) -> None:
        limit = item_limit(stream)
        self._limit = LimitCounter(limit) if limit else None
        self._done_counts = done_counts
        self._items: Iterator[WorkItem] = (
            iter(()) if stream.work is None else iter_work_items(stream.work.items)
        )
        self._returned_items: deque[WorkItem] = deque()

    def take(self, max_items: int) -> list[WorkItem]:
        """Return the items of the next wave; none if all are done or the limit is reached."""
        taken: list[WorkItem] = []
        size = 0
        while len(taken) < max_items and size < MAX_BYTES:
            item = self._next_item()
            if item is None:
                break
            taken.append(item)
            size += item.size
        return taken

    def return_items(self, items: list[WorkItem]) -> None:
        """Return items that were not begun in time; they are first in the next wave."""
        self._returned_items.extend(items)

    def _next_item(self) -> WorkItem | None:
        if self._returned_items:
            return self._returned_items.popleft()
        # An item that an earlier run has done counts towards the limit.
        while self._limit is None or self._limit.has_room():
            item = next(self._items, None)
            if item is None:
                return None
            if self._limit is not None:
                self._limit.count(item)
            if not self._done_counts[item.digest]:
                return item
            self._done_counts[item.digest] -= 1
        return None
