"""Runs the waves of a resource: items out, rows into a folder, an entry into the ledger."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.config import logger, redact
from penstock.errors import MissingOnExecutors, ResourceFailed, RowNotEncodable, WaveFailed
from penstock.extract.waves.backlog import Backlog
from penstock.extract.waves.items import items_of
from penstock.extract.waves.ledger import Wave, WaveLedger
from penstock.extract.waves.plan import Before, plan_wave, refuse_speculation
from penstock.extract.waves.ship import cargo_of
from penstock.extract.waves.there import ASIDE, FAILED, LEFT, ROWS, SCHEMA
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path
from penstock.spark.presets import SAFE_COMMIT
from penstock.spark.shipping import carried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.extract.plan import Workload
    from penstock.extract.waves.items import Item
    from penstock.extract.waves.plan import WavePlan
    from penstock.extract.waves.ship import Cargo
    from penstock.extract.waves.split import WaveWork
    from penstock.package import Package

_PART, _ROW, _SIZE = "part", "row", "size"
_STATIC: Final = (ROWS, ASIDE, LEFT, FAILED)
_FOR_SLOTS: Final = 4096
_ASK_EVERY: Final = 8
_WRITING: Final = {
    "compression": "zstd",
    # A task that dies while it commits must not leave half of its files.
    **SAFE_COMMIT,
    "parquet.block.size": str(32 << 20),
}
_log = logger("penstock.extract")


class RemoteTraceback(Exception):
    """The traceback of an executor, as the cause of the error that is raised here."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def run_waves(
    work: WaveWork,
    package: Package,
    *,
    spark: SparkSession,
    load: Workload,
    around: Callable[[Sequence[Wave]], None],
) -> list[Wave]:
    """Call the function of a resource for every item that is not done yet; gives all waves, old and new.

    `around` is called with the waves so far: before each of them, and before each is written down.
    """
    rate = work.stream.work.rate if work.stream.work else None
    refuse_speculation(work.stream.name, rate, spark.conf.get("spark.speculation", "false"))
    cargo = cargo_of(work.stream, work.bound, keeps_bad_rows=load.on_bad_row == "quarantine")
    ledger = _ledger(work, package)
    backlog = Backlog(work.stream, done=ledger.done())
    before: Before | None = None
    slots = load.slots or 1
    for number in count():
        # Executors come late, and on some clusters they come and go; asking is a job.
        if load.slots is None and (number <= 1 or number % _ASK_EVERY == 0):
            slots = _slots(spark)
        plan = plan_wave(slots, rate, seconds=load.wave_seconds, before=before)
        around(ledger.waves)
        items = backlog.take(plan.items)
        if not items:
            break
        place = _Place(package=package, identity=work.identity, number=ledger.next_number)
        wave, left = _run_wave(cargo, items, plan, place, spark)
        around(ledger.waves)
        if not ledger.add(wave):
            raise WaveFailed(resource=cargo.resource, wave=wave.number, reason="another run has done it")
        backlog.give_back(left)
        before = Before(items=len(wave.items), seconds=wave.seconds)
        _log.info(
            "%s: wave %d, %d items, %d rows in %.1f s",
            *(cargo.resource, wave.number, len(wave.items), sum(wave.rows.values()), wave.seconds),
        )
    return ledger.waves


def _ledger(work: WaveWork, package: Package) -> WaveLedger:
    """The waves that are done, as far as they are of items that the parent gives this time too."""
    ledger = WaveLedger(package.store, work.identity)
    if work.spool is not None and ledger.waves:
        gone = ledger.keep(Counter(item.digest for item in items_of(work.spool.items)))
        if gone:
            _log.info("%s: %d waves are done again, their items have changed", work.stream.name, gone)
    return ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the rows of a wave go: a folder that no other attempt has."""

    package: Package
    identity: str
    number: int

    def folder(self) -> str:
        return f"data/waves/{self.identity}/{self.number:06d}-{uuid.uuid4().hex[:12]}"


def _run_wave(
    cargo: Cargo, items: Sequence[Item], plan: WavePlan, place: _Place, spark: SparkSession
) -> tuple[Wave, list[Item]]:
    """One job. What it could not begin in its time comes back."""
    started = time.monotonic()
    folder = place.folder()
    path = spark_path(f"{place.package.path}/{folder}")
    parts = min(plan.parts, len(items))
    task = cargo.task([item.value for item in items], plan)
    given = spark.range(0, parts, 1, parts).mapInArrow(carried(task), SCHEMA)
    try:
        rows, sizes = _write(given, path, spark, names_tables=cargo.names_tables)
        if rows.get(FAILED):
            raise_remote(cargo.resource, _texts(spark, path, FAILED, most=1)[0])
        left = {int(one) for one in _texts(spark, path, LEFT)} if rows.get(LEFT) else set()
    except PySparkException as error:
        reason = redact(str(error).strip().split("\n", 1)[0])
        raise WaveFailed(resource=cargo.resource, wave=place.number, reason=reason) from error
    kept = {part: count for part, count in rows.items() if part != LEFT and count}
    wave = Wave(
        number=place.number,
        folder=folder,
        items=[item.digest for at, item in enumerate(items) if at not in left],
        files=parts,
        seconds=round(time.monotonic() - started, 3),
        rows=kept,
        sizes={part: sizes[part] for part in kept},
    )
    return wave, [items[at] for at in sorted(left)]


def _write(
    given: DataFrame, path: str, spark: SparkSession, *, names_tables: bool
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Write what a wave gives, and count it by part: rows, and bytes of text."""
    asked = {
        name: column
        for part in _STATIC
        for name, column in (
            (part, F.count_if(F.col(_PART) == part)),
            (f"{_SIZE}_{part}", F.sum(F.when(F.col(_PART) == part, F.octet_length(_ROW)))),
        )
    }
    counted, seen = observed(given, {f"of_{name}": column for name, column in asked.items()})
    counted.write.mode("overwrite").partitionBy(_PART).options(**_WRITING).parquet(path)
    found = None if names_tables else seen.values()
    if found is not None:
        rows = {part: found[f"of_{part}"] for part in _STATIC}
        return rows, {part: found[f"of_{_SIZE}_{part}"] or 0 for part in _STATIC}
    files = spark.read.schema(f"{_ROW} string, {_PART} string").parquet(path)
    size = F.sum(F.octet_length(_ROW)).alias(_SIZE)
    counts = files.groupBy(_PART).agg(F.count(F.lit(1)).alias(_ROW), size).collect()
    return {one[_PART]: one[_ROW] for one in counts}, {one[_PART]: one[_SIZE] for one in counts}


def _texts(spark: SparkSession, path: str, part: str, *, most: int | None = None) -> list[str]:
    found = spark.read.schema(f"{_ROW} string").parquet(f"{path}/{_PART}={part}")
    return [one[_ROW] for one in (found if most is None else found.limit(most)).collect()]


def raise_remote(resource: str, told: str) -> None:
    """Raise the error that an executor reported."""
    error: dict[str, Any] = json.loads(told)
    cause, item = redact(error["cause"]), redact(error["item"])
    remote = RemoteTraceback(redact(error["traceback"]))
    if error["is_row"]:
        raise RowNotEncodable(resource=resource, item=f"of item {item}", cause=cause) from remote
    if error["module"]:
        raise MissingOnExecutors(resource=resource, module=error["module"]) from remote
    answer = (error["host"], error["status"]) if error["status"] else None
    raise ResourceFailed.classified(
        resource=resource, item=item, cause=cause, traceback=str(remote), answer=answer
    ) from remote


def _slots(spark: SparkSession) -> int:
    """How many tasks run at the same time; every way of Spark tells it by how it cuts a range."""
    numbered = spark.range(_FOR_SLOTS).select(F.spark_partition_id().alias(_PART))
    return int(numbered.agg(F.max(_PART)).collect()[0][0]) + 1
