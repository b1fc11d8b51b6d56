"""Extraction separate from loading: pending packages, loads during an extraction, failed resources."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import process_env
from tests.flow.factories import make_pipeline, packages_of

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# A resource that continues after the last load; the process is killed while the third slice is open.
CUT = """
import os, signal, sys
import penstock
import penstock.extract.run

@penstock.resource
def items():
    state = penstock.current.resource_state()
    for number in range(state.get("next", 0), 30):
        state["next"] = number + 1
        if number == 25 and sys.argv[3] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"id": number}

lake = penstock.destinations.delta(sys.argv[1])
pipeline = penstock.pipeline("quick", pipelines_dir=sys.argv[2], destination=lake, dataset_name="demo")

# Time is told by the rows: a slice is ten of them.
clock = iter(range(10**9))
class Clock:
    monotonic = staticmethod(lambda: next(clock))
penstock.extract.run.time = Clock
info = pipeline.run(items, commit_interval=20)
print(len(info.packages))
"""


def ids(pipeline: penstock.Pipeline) -> list[int]:
    return sorted(row[0] for row in pipeline.dataset()["items"].fetchall())


def test_packages_extracted_without_a_destination_are_loaded_by_the_first_run_that_has_one(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__PENDING", "continue")

    @penstock.resource
    def items() -> Iterator[Any]:
        state = penstock.current.resource_state()
        for _ in range(2):
            state["last"] = state.get("last", 0) + 1
            yield {"id": state["last"]}

    alone = penstock.pipeline("quick", pipelines_dir=tmp_path / "pipelines")
    waiting = [alone.extract(items()).loads_ids, alone.extract(items()).loads_ids]

    pipeline = make_pipeline(location, tmp_path, spark)
    info = pipeline.run(items())

    assert [[load_id] for load_id in info.loads_ids[:2]] == waiting
    assert ids(pipeline) == [1, 2, 3, 4, 5, 6]
    assert packages_of(location).with_status("extracted") == []
    assert pipeline.extract(items()).location == packages_of(location).store.path("")
    assert ids(pipeline) == [1, 2, 3, 4, 5, 6]
    assert len(pipeline.run().packages) == 1
    assert ids(pipeline) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.at_length
def test_loaded_slices_survive_a_failed_extraction_and_the_next_run_continues(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    def run(end: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CUT, location, str(tmp_path / "pipelines"), end]
        return subprocess.run(
            command, env=process_env(), cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert run("kill").returncode == -9
    seen = ids(make_pipeline(location, tmp_path, spark))
    assert seen == list(range(len(seen)))
    assert 0 < len(seen) <= 25

    done = run("end")

    assert done.returncode == 0, done.stderr
    assert ids(make_pipeline(location, tmp_path, spark)) == list(range(30))


def test_a_failed_resource_is_skipped_and_reported(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource
    def bad() -> Iterator[Any]:
        yield {"id": 1}
        raise KeyError("bad")

    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run([bad(), penstock.resource([{"id": 1}], name="items")], on_error="continue")

    assert ids(pipeline) == [1]
    assert "bad" not in pipeline.dataset().tables
    assert list(info.failed_resources) == ["bad"]
    assert "left out: bad raised KeyError('bad') at item 2" in str(info).splitlines()
    assert info.asdict()["failed_resources"][0]["resource"] == "bad"
