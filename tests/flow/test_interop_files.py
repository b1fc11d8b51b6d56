"""A dataset of plain files that one tool began is continued by the other: state, schema and tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = Path(__file__).parent / "dlt_side" / "continue_files.py"
TWO = [
    {"id": number, "name": f"dlt {number}", "tags": ["from dlt"], "seller": {"city": "x"}}
    for number in (100, 101)
]


def make(location: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "quick",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.filesystem(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )


def dlt_continues(
    location: str, folder: Path, said: str = "parquet", rows: list[dict[str, Any]] = TWO, **hints: Any
) -> dict[str, Any]:
    """Let dlt load rows in a process of its own; gives what it saw before and after."""
    python = os.environ.get("PENSTOCK_TEST_DLT_PYTHON")
    if python is None:
        pytest.skip("PENSTOCK_TEST_DLT_PYTHON is not set: `python3 -m dev.parts dlt` makes one and prints it")
    given = json.dumps(
        {"rows": rows, "hints": hints or {"write_disposition": "append"}, "format": said, "told": "by dlt"}
    )
    command = [python, str(SCRIPT), location, str(folder), "quick", given]
    quiet = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def ids(pipeline: penstock.Pipeline) -> list[int]:
    return sorted(row[0] for row in pipeline.dataset()["items"].select("id").fetchall())


def test_dlt_goes_on_with_files_of_ours_and_we_go_on_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    ours = make(location, tmp_path, spark)
    ours.run(nested_rows(5), table_name="items")
    stored = ours.dataset()["_dlt_version"].spark().collect()[0]["version_hash"]

    told = dlt_continues(location, tmp_path / "dlt")
    between = ours.dataset().row_counts()
    ours.run(nested_rows(2), table_name="items")

    before = told["before"]
    assert before["schema"] == ["items", "items__parts", "items__tags"]
    assert (before["hash"], before["state_version"], before["first_run"]) == (stored, 1, False)
    assert before["rows"] == {"items": 5, "items__parts": 5, "items__tags": 10}
    assert told["after"]["rows"] == between == {"items": 7, "items__parts": 5, "items__tags": 12}
    assert ours.dataset().row_counts() == {"items": 9, "items__parts": 7, "items__tags": 16}


def test_we_go_on_with_files_of_dlts_and_each_replaces_those_of_the_other(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(name="items")
    def items(*numbers: int) -> Any:
        state = penstock.current.resource_state()
        seen.append(state.get("told"))
        state["told"] = "by penstock"
        yield from ({"id": number, "weight": number} for number in numbers)

    seen: list[Any] = []
    dlt_continues(location, tmp_path / "dlt")
    ours = make(location, tmp_path, spark)
    assert ids(ours) == [100, 101], "before anything of ours is there"

    info = ours.run(items(1, 2))
    told = dlt_continues(location, tmp_path / "dlt elsewhere")
    assert info.packages[0].sequence == 1
    assert told["before"]["ids"] == [1, 2, 100, 101]
    assert told["before"]["told"] == ["by penstock"]
    assert ids(ours) == [1, 2, 100, 100, 101, 101]

    ours.run(items(3), write_disposition="replace")
    assert ids(ours) == [3]
    assert seen == ["by dlt", "by dlt"]
    again = dlt_continues(location, tmp_path / "dlt again", rows=[{"id": 9}], write_disposition="replace")
    assert (again["before"]["ids"], again["after"]["ids"]) == ([3], [9])
    assert ids(ours) == [9]
    ours.run(items(10), write_disposition="append")
    assert ids(ours) == [9, 10]


@pytest.mark.parametrize("said", ["jsonl", "csv"])
def test_lines_of_dlts_are_read(said: str, spark: SparkSession, location: str, tmp_path: Path) -> None:
    dlt_continues(location, tmp_path / "dlt", said)
    ours = make(location, tmp_path, spark)

    found = ours.dataset()["items"].order_by("id").select("id", "name", "seller__city").fetchall()

    assert found == [(100, "dlt 100", "x"), (101, "dlt 101", "x")]
