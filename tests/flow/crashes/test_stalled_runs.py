"""A run stalls at a durable write, another run takes over and finishes, and the first one continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.crashes.any_shop import Shop, tried_kinds
from tests.flow.crashes.stalled_run import problems, recorded_steps, recorded_writes, stall_each, taken_over

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def begin(kind: str, spark: SparkSession, tmp_path: Path) -> Shop:
    """A shop after its first load."""
    base = Shop(kind, f"{tmp_path}/base", tmp_path / "base-disk", spark)
    base.run(1)
    return base


@pytest.mark.parametrize("kind", tried_kinds("disk"))
def test_a_run_that_stalls_at_a_write_changes_nothing_after_another_run_took_over(
    kind: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = begin(kind, spark, tmp_path)

    with recorded_writes(monkeypatch):
        tried, points, wrong = stall_each(base, tmp_path, str(tmp_path), few=1)

    with capsys.disabled():
        print(f"\n{kind}, stalled runs: {tried} of {points} points, {len(wrong)} wrong")  # noqa: T201 - the figures
    assert not wrong


def test_a_run_that_normalized_and_stalled_changes_nothing_of_a_load_that_is_half_applied(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that took over has committed a nested table when the first one marks its own attempt."""
    base = begin("delta", spark, tmp_path)
    with recorded_writes(monkeypatch):
        steps, expected = recorded_steps(base, tmp_path)
        first = next(step for step in steps if "before put " in step.what and "normalized.json" in step.what)
        other = next(step for step in steps if step.what == "after merge orders__lines")
        shop = base.copy(f"{tmp_path}/shop", tmp_path / "disk")

        # The run that takes over finds the package extracted: its steps have other numbers.
        _, wrong = taken_over(shop, first.number, tmp_path / "other", other_stalls_at=other.what)
        wrong += problems(shop, tmp_path / "next", expected)

    assert wrong == []
