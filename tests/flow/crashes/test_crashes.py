"""A load of several chains, killed at any step in any way, ends like an undisturbed one."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import SEED, process_env
from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.paused_run import run_with_pause
from tests.flow.crashes.recorded_load import (
    CHOSEN_LAKE,
    EACH_LAKE,
    RecordedLoad,
    at_length,
    chosen,
    differences,
    of_each_lake,
    problems,
)
from tests.flow.crashes.shop import BATCHES, REQUESTED, ROOTS, expire_lease, lake_of, pipeline_at, shop
from tests.flow.crashes.steps import Step, Steps, recording_steps

from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
BETWEEN = r"(after|before) merge (orders|customers|prices)"
"""Some tables of a chain have their rows, others do not."""
KILLS = (
    r"extracted\.json",
    r"slots/",
    r"started_jobs/events",
    r"before merge orders__lines",
    r"after merge orders__lines",
    r"after merge customers",
    r"after append events",
    r"\.results/prices",
    r"outcomes/",
    r"_dlt_pipeline_state/",
    r"_dlt_loads/",
    r"package_completed",
    r"in the middle of a delete",
    # During a statement: Spark may complete it after the driver has ended.
    r"before merge orders__lines 0.3",
    r"before append events 0.1",
    r"before merge prices 0.6",
)


def kills() -> list[tuple[str, str]]:
    """Return the steps at which a driver is killed, for each table format."""
    lakes = EACH_LAKE if REQUESTED else (CHOSEN_LAKE,)
    not_loaded = [root for root in BATCHES if root not in ROOTS]
    points = [
        (name, at)
        for name in lakes
        for at in (*KILLS, *LAKES[name].kills)
        if not any(root in at for root in not_loaded)
    ]
    return points if REQUESTED else [random.Random(SEED).choice(points)]


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(f"\n{text}", flush=True)  # noqa: T201 - the figures


@of_each_lake
def test_a_load_killed_at_any_step_ends_like_an_undisturbed_one(
    recorded: RecordedLoad, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = chosen(recorded.steps, few=1)
    wrong: dict[str, list[str]] = {}
    for step in tried:
        trial = recorded.image(step)
        reader = recorded.reader(trial, spark)
        reader.read_once()
        result = reader.mixed + problems(trial, spark, recorded.expected)
        shutil.rmtree(trial)
        if result:
            wrong[f"{step.number} {step.what}"] = result

    points = f"{len(recorded.steps)} points ({len(recorded.first_of_each_kind())} kinds)"
    say(capsys, f"{recorded.lake.name}, soft crashes: {len(tried)} of {points}, {len(wrong)} wrong")
    assert not wrong


@pytest.mark.at_length
@of_each_lake
def test_another_machine_with_an_empty_disk_finishes_a_killed_load(
    recorded: RecordedLoad, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    points = {*recorded.first_of_each_kind(), *recorded.matching(BETWEEN)}
    tried = chosen(sorted(points, key=lambda step: step.number), few=1)
    wrong: dict[str, list[str]] = {}
    for step in tried:
        trial = recorded.image(step)
        shutil.rmtree(trial / "disk")
        result = problems(trial, spark, recorded.expected, disk="another")
        shutil.rmtree(trial)
        if result:
            wrong[f"{step.number} {step.what}"] = result

    of_all = f"{len(tried)} of {len(points)} points"
    say(capsys, f"{recorded.lake.name}, with the disk wiped: {of_all}, {len(wrong)} wrong")
    assert not wrong


@at_length
@of_each_lake
def test_a_load_killed_while_jobs_run_in_parallel_ends_like_an_undisturbed_one(
    recorded: RecordedLoad, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process runs to the end of its blocks and may change nothing any more, while a reader reads."""
    numbers = random.Random(SEED).sample(range(len(recorded.steps) - 5), 12)
    reads = 0
    for number in numbers:
        trial = recorded.from_base(f"side-by-side-{number}")

        def die(step: Step, number: int = number) -> None:
            if step.number >= number:
                raise Crash

        steps = Steps(trial, die)
        with recorded.reader(trial, spark) as reader:
            with recording_steps(steps), pytest.raises(Crash):
                pipeline_at(
                    trial, spark, destination=recorded.lake.destination_with_steps(steps, lake_of(trial))
                ).run(shop(2))
            expire_lease(trial)
            result = problems(trial, spark, recorded.expected)
        reads += reader.reads

        assert result + reader.mixed == [], steps.seen[number].what
    say(
        capsys,
        f"{recorded.lake.name}, four jobs at once: {len(numbers)} crashes, a reader looked {reads} times",
    )


@at_length
@of_each_lake
def test_a_run_paused_while_another_one_finishes_its_load_changes_nothing(
    recorded: RecordedLoad,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Until the run checks its lease, only load marks and put-if-absent protect the load."""
    tried = chosen(recorded.first_of_each_kind(), few=1)
    wrong: dict[str, list[str]] = {}
    for step in tried:
        trial = recorded.from_base(f"standing-still-{step.number}")
        other = partial(problems, trial, spark, recorded.expected)
        result = run_with_pause(
            trial, step.kind, other, monkeypatch, spark, destination=recorded.lake.destination_with_steps
        )
        result += differences(trial, spark, recorded.expected) + problems(trial, spark, recorded.expected)
        if result:
            wrong[f"{step.number} {step.what}"] = result

    say(capsys, f"{recorded.lake.name}, paused: {len(tried)} points, {len(wrong)} wrong")
    assert not wrong


@pytest.mark.parametrize(("recorded", "at"), kills(), indirect=["recorded"])
def test_the_next_run_finishes_the_load_of_a_driver_killed_by_a_signal(
    at: str, recorded: RecordedLoad, spark: SparkSession
) -> None:
    trial = recorded.from_base(f"killed-{re.sub(r'[^a-z]+', '-', at)}")
    environment = {**process_env(), "PYTHONPATH": str(ROOT)}
    given = (recorded.lake.name, str(trial), *at.rsplit(" ", at.count("0.")))
    command = [sys.executable, "-m", "tests.flow.crashes.killed_process", *given]
    killed = subprocess.run(command, check=False, capture_output=True, env=environment, cwd=trial)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    assert problems(trial, spark, recorded.expected) == []
