"""Loads into a real object store, killed or stalled at any step, end like an undisturbed one in every format.

`PENSTOCK_TEST_CRASHES` chooses the steps: empty for one, `all`, or `kinds:2/3`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes.any_shop import KINDS, Shop, tried_kinds
from tests.flow.crashes.lakes import DRIVER_ROWS, LAKES, driver_rows_of
from tests.flow.crashes.recorded_load import chosen
from tests.flow.crashes.stalled_run import problems, recorded_steps, recorded_writes, stall_each, writes_of
from tests.flow.crashes.steps import Step, Steps
from tests.service.bucket import jdbc_catalog, keys

from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A run after a crash loads all rows: those that are pending and its own. The lake decides who writes."""
    monkeypatch.setenv("RUN__PENDING", "continue")
    monkeypatch.setenv(DRIVER_ROWS, driver_rows_of(kind))


def settings_at(kind: str, location: str) -> dict[str, Any]:
    """A catalog of files is refused in a bucket."""
    return jdbc_catalog(location) if kind in LAKES and LAKES[kind].format == "iceberg" else {}


def begin(kind: str, location: str, spark: SparkSession, disk: Path) -> Shop:
    """A shop after its first load."""
    at = f"{location}/base"
    base = Shop(kind, at, disk / "base-disk", spark, keys(), settings_at)
    base.run(1)
    return base


@pytest.mark.at_length
@pytest.mark.parametrize("kind", KINDS)
def test_a_load_killed_in_a_bucket_ends_like_an_undisturbed_one(
    kind: str,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = begin(kind, location, spark, tmp_path)
    wrong = {}
    with recorded_writes(monkeypatch):
        steps, expected = recorded_steps(base, tmp_path)
        tried = chosen([step for step in steps if step.what.startswith("before")], few=1)
        for step in tried:
            shop = base.copy(f"{location}/{step.number}", tmp_path / str(step.number))
            die_at(shop, step)
            result = problems(shop, tmp_path / f"next-{step.number}", expected)
            if result:
                wrong[f"{step.number} {step.what}"] = result

    with capsys.disabled():
        print(f"\n{kind} on S3: {len(tried)} of {len(steps)} points, {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong


def die_at(shop: Shop, step: Step) -> None:
    """End a run at a step, as if its process were killed there."""

    def die(reached: Step) -> None:
        if reached.number >= step.number:
            raise Crash

    steps = Steps(shop.disk, die)
    with writes_of(shop, steps), pytest.raises(Crash):
        shop.run(2, steps)
    shop.expire_lease()


@pytest.mark.parametrize("kind", tried_kinds("S3"))
def test_a_run_in_a_bucket_that_stalls_at_a_write_changes_nothing_after_another_run_took_over(
    kind: str,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = begin(kind, location, spark, tmp_path)

    with recorded_writes(monkeypatch):
        tried, points, wrong = stall_each(base, tmp_path, location, few=1)

    with capsys.disabled():
        print(f"\n{kind} on S3, stalled runs: {tried} of {points} points, {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong
