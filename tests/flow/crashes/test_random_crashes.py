"""A run that dies at a random moment, from its generators on, ends as one that does not."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import SEED
from tests.flow.crashes.cursor_shop import outcome, run
from tests.flow.crashes.lakes import DRIVER_ROWS, LAKES, Lake, driver_rows_of
from tests.flow.crashes.recorded_load import CHOSEN_LAKE, EACH_LAKE
from tests.flow.crashes.shop import expire_lease, image, lake_of, packages_at
from tests.flow.crashes.steps import Step, Steps, recording_steps

from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
REQUESTED = os.environ.get("PENSTOCK_TEST_RANDOM_CRASHES", "")
"""Nothing for one run on one lake; else, for each lake, how many end in this process, and how many killed."""
SOFT, HARD = (int(part) for part in (REQUESTED or "1+0").split("+"))


@dataclass
class Baseline:
    """The state after the first run, and the expected result of the second one."""

    folder: Path
    lake: Lake
    steps: int
    expected: dict[str, Any]
    trials: int = 0

    def trial(self) -> Path:
        """Copy disk and lake as the first run left them, to a new address if the format allows it."""
        self.trials += 1
        root = self.folder / (f"trial-{self.trials}" if self.lake.can_move else "root")
        shutil.rmtree(root, ignore_errors=True)
        return Path(shutil.copytree(self.folder / "base", root))

    def problems(self, root: Path, spark: SparkSession, *, wiped: bool) -> list[str]:
        """Run again, on this disk or on an empty one; return every difference from the expected result."""
        if wiped:
            shutil.rmtree(root / "disk")
        run(root, spark, 2, destination=self.lake, disk="another" if wiped else "disk")
        result = outcome(root, spark, self.lake)
        pending = ["a package is pending"] if packages_at(root).unsealed_packages() else []
        return pending + [
            f"{name}: {result[name]}" for name in self.expected if result[name] != self.expected[name]
        ]


@pytest.fixture(scope="module", params=EACH_LAKE if REQUESTED else [CHOSEN_LAKE])
def baseline(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Baseline:
    """Record both runs, undisturbed, and the number of steps of the second one."""
    lake, folder = LAKES[request.param], tmp_path_factory.mktemp("journey")
    root = folder / "root"
    steps = Steps(root, lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DRIVER_ROWS, driver_rows_of(lake.name))
        run(root, spark, 1, destination=lake)
        image(root, folder / "base")
        with recording_steps(steps):
            to = lake.destination_with_steps(steps, lake_of(root))
            run(root, spark, 2, destination=to, at_row=steps.reach)
    return Baseline(folder, lake, len(steps.seen), outcome(root, spark, lake))


@pytest.mark.at_length
def test_a_run_that_crashes_at_a_random_step_is_resumed(
    baseline: Baseline, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, wrong, seen = random.Random(SEED), {}, []
    for turn in range(SOFT):
        root, number = baseline.trial(), chance.randrange(baseline.steps - 5)

        def die(step: Step, number: int = number) -> None:
            if step.number >= number:
                raise Crash

        steps = Steps(root, die)
        to = baseline.lake.destination_with_steps(steps, lake_of(root))
        with recording_steps(steps), pytest.raises(Crash):
            run(root, spark, 2, destination=to, at_row=steps.reach)
        expire_lease(root)
        seen.append(steps.seen[number].kind)
        result = baseline.problems(root, spark, wiped=turn % 2 == 0)
        if result:
            wrong[f"{turn}: {steps.seen[number].what}"] = result

    in_rows = sum(item.startswith("row ") for item in seen)
    of_all = f"{len(seen)} of {baseline.steps} steps, {in_rows} of them in a generator"
    say(
        capsys,
        f"{baseline.lake.name}, a run that ends: {of_all}, half with an empty disk, {len(wrong)} wrong",
    )
    assert not wrong


@pytest.mark.skipif(not HARD, reason="PENSTOCK_TEST_RANDOM_CRASHES says how many runs are killed")
def test_a_process_killed_at_a_random_moment_is_resumed(
    baseline: Baseline, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed = program(baseline.lake, baseline.trial(), 0)
    lasts = float(undisturbed.stdout)
    chance, wrong = random.Random(SEED), {}
    killed: list[float] = []
    while len(killed) < HARD:
        root, seconds = baseline.trial(), chance.uniform(0.01, 0.95 * lasts)
        ended = program(baseline.lake, root, seconds)
        if ended.returncode == 0:  # it was faster than the measured one
            lasts = min(lasts, float(ended.stdout))
            continue
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        killed.append(seconds)
        result = baseline.problems(root, spark, wiped=len(killed) % 2 == 0)
        if result:
            wrong[f"{seconds:.2f} s"] = result

    moments = " ".join(f"{item:.1f}" for item in sorted(killed))
    options = (
        f"kill -9 of a run of {lasts:.1f} s after {moments} s, half with an empty disk, {len(wrong)} wrong"
    )
    say(capsys, f"{baseline.lake.name}, {options}")
    assert not wrong


def program(lake: Lake, root: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Make the second run in a process; wait until its JVM has ended too."""
    command = [sys.executable, "-m", "tests.flow.crashes.cursor_shop", lake.name, str(root), str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=root,
        start_new_session=True,
    )
    written, options = begun.communicate()
    with suppress(ProcessLookupError):
        while True:
            os.killpg(begun.pid, 0)
            time.sleep(0.05)
    return subprocess.CompletedProcess(command, begun.returncode, written, options)


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(f"\n{text}", flush=True)  # noqa: T201 - the figures
