"""Packages against their model; `make packages` runs many sequences, `PENSTOCK_TEST_SEED` repeats them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.unit.package.crash_points import Disk, ObjectStore, StorageFactory
from tests.unit.package.package_machine import PackageMachine

if TYPE_CHECKING:
    import pytest

SEQUENCES = int(os.environ.get("PENSTOCK_TEST_SEQUENCES", "8"))
MEMORY = Path("/dev/shm")


def run(
    where: StorageFactory, *, sequences: int, steps: int = 30, machine: type[PackageMachine] = PackageMachine
) -> Counter[str]:
    class Machine(machine):  # type: ignore[valid-type, misc]
        place = where
        tally: Counter[str] = Counter()  # noqa: RUF012 - one for all sequences

    patient = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    how = settings(
        max_examples=sequences,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=patient,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to make one shorter takes many minutes
    )
    run_state_machine_as_test(Machine, settings=how)
    return Machine.tally


def summary(where: str, tally: Counter[str]) -> str:
    points = sum(" at " in name for name in tally)
    return (
        f"{where}: {tally['sequences']} sequences, {tally['steps']} steps, {tally['stops']} stops "
        f"at {points} different points of calls"
    )


def test_packages_on_a_disk_follow_the_model_wherever_a_process_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # On a disk in memory where there is one: what is tried is the order of calls.
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        tally = run(Disk(Path(folder)), sequences=SEQUENCES)

    assert tally["stops"] > SEQUENCES / 2
    with capsys.disabled():
        print(f"\n{summary('on a disk', tally)}")  # noqa: T201 - a summary of the run


def test_packages_in_an_object_store_follow_the_model_wherever_a_process_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = run(ObjectStore(), sequences=SEQUENCES)

    assert tally["stops"] > SEQUENCES / 2
    with capsys.disabled():
        print(f"\n{summary('in an object store', tally)}")  # noqa: T201
