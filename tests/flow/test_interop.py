"""A dataset that one tool began is continued by the other: state, schema and tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.making import make

from penstock.testing import nested_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = Path(__file__).parent / "dlt_side" / "continue_dataset.py"


def dlt_continues(location: str, folder: Path, name: str) -> dict[str, Any]:
    python = os.environ.get("PENSTOCK_TEST_DLT_PYTHON")
    if python is None:
        pytest.skip("PENSTOCK_TEST_DLT_PYTHON is not set: `python3 -m dev.dlt` makes one and prints it")
    command = [python, str(SCRIPT), location, str(folder), name]
    quiet = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_dlt_goes_on_with_a_dataset_of_ours_and_we_go_on_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    ours = make(location, tmp_path, spark)
    ours.run(nested_rows(5), table_name="items")
    stored = ours.dataset()["_dlt_version"].spark().collect()[0]["version_hash"]

    told = dlt_continues(location, tmp_path / "dlt", "quick")
    ours.run(nested_rows(2), table_name="items")

    assert told["before"] == {
        "schema": ["items", "items__parts", "items__tags"],
        "hash": stored,
        "state_version": 1,
        "first_run": False,
        "rows": {"items": 5, "items__parts": 5, "items__tags": 10},
    }
    assert told["after"]["rows"] == {"items": 7, "items__parts": 5, "items__tags": 12}
    assert ours.dataset().row_counts() == {"items": 9, "items__parts": 7, "items__tags": 16}
    versions = ours.dataset()["_dlt_version"].spark().orderBy("inserted_at").collect()
    assert versions[0]["version_hash"] == stored


def test_we_go_on_with_a_dataset_of_dlts_and_dlt_goes_on_after_us(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    begun = dlt_continues(location, tmp_path / "dlt", "quick")
    ours = make(location, tmp_path, spark)

    info = ours.run(nested_rows(3), table_name="items")
    told = dlt_continues(location, tmp_path / "dlt elsewhere", "quick")

    assert begun["before"] is None
    assert info.packages[0].sequence == 1
    assert told["before"]["rows"] == {"items": 5, "items__parts": 3, "items__tags": 8}
    assert told["before"]["first_run"] is False
    assert told["after"]["rows"] == {"items": 7, "items__parts": 3, "items__tags": 10}
    loads = ours.dataset()["_dlt_loads"].spark().orderBy("load_id").collect()
    assert [row["pipeline_name"] for row in loads] == [None, "quick", None]
