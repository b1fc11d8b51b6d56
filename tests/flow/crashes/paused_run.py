"""A run that pauses at a step while another process works, and then continues."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.flow.crashes.lakes import DELTA
from tests.flow.crashes.shop import expire_lease, lake_of, pipeline_at, shop
from tests.flow.crashes.steps import Step, Steps, recording_steps, steps_not_recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination


def run_with_pause(
    root: Path,
    kind: str,
    other: Callable[[], list[str] | None],
    monkeypatch: pytest.MonkeyPatch,
    spark: SparkSession,
    *,
    destination: Callable[[Steps, str], Destination] = DELTA.destination_with_steps,
) -> list[str]:
    """Run up to the first step of a kind, call `other`, and continue; return the result of `other`."""
    options: list[list[str]] = []

    def pause(step: Step) -> None:
        if step.kind == kind and not options:
            options.append([])
            with steps_not_recorded(steps):
                expire_lease(root)
                # In this thread it would share the job group of the paused run, and be cancelled with it.
                with ThreadPoolExecutor(1) as thread:
                    options[0] += thread.submit(other).result() or []

    steps = Steps(root, pause)
    with monkeypatch.context() as patch:
        patch.setenv("LOAD__WORKERS", "1")
        # No heartbeat during a test: the run notices the other one only when its own writes fail.
        patch.setenv("RUN__LEASE_BEAT", "3600")
        patch.setenv("RUN__LEASE_ALIVE", "36000")
        late = pipeline_at(root, spark, destination=destination(steps, lake_of(root)))
        stumbled: Exception | None = None
        try:
            with recording_steps(steps):
                late.run(shop(2))
        except Exception as error:  # any error is allowed after the pause
            stumbled = error
    assert options, f"there is no step {kind!r}, but {stumbled!r}"
    return options[0]
