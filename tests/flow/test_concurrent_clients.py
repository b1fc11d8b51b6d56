"""Several clients of one Connect server load into one dataset at once, each its own pipeline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import MODE
from tests.flow.factories import make_pipeline

from penstock.testing import documents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = Path(__file__).parent / "client_side" / "run_loads.py"
CLIENTS, LOADS = (int(part) for part in os.environ.get("PENSTOCK_TEST_CLIENTS", "2x1").split("x"))


def clients(location: str, folder: Path) -> Counter[str]:
    """Run all clients; return the number of commit retries by table."""
    running = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), location, str(folder / str(number)), str(number), str(LOADS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(CLIENTS)
    ]
    for item in running:
        assert item.stdin is not None
        item.stdin.write("go\n")
        item.stdin.flush()
    output = [item.communicate() for item in running]
    conflicts: Counter[str] = Counter()
    for item, (options, errors) in zip(running, output, strict=True):
        assert item.returncode == 0, errors[-4000:]
        conflicts += Counter(json.loads(options.splitlines()[-1]))
    return conflicts


def rows(spark: SparkSession, location: str, table: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in spark.read.format("delta").load(f"{location}/demo/{table}").collect()]


@pytest.mark.handful
@pytest.mark.every_mode
@pytest.mark.skipif(MODE != "connect", reason="the clients are those of a Connect server")
def test_pipelines_of_several_clients_load_into_one_dataset_at_once(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    conflicts = clients(location, tmp_path)

    for number in range(CLIENTS):
        own, tags = rows(spark, location, f"own{number}"), rows(spark, location, f"own{number}__tags")
        assert sorted(row["id"] for row in own) == [
            load * 10 + row for load in range(LOADS) for row in range(3)
        ]
        assert Counter(row["_dlt_parent_id"] for row in tags) == {row["_dlt_id"]: 2 for row in own}
    events = Counter((row["client"], row["load"], row["row"]) for row in rows(spark, location, "events"))
    assert events == Counter(
        (client, load, row) for client in range(CLIENTS) for load in range(LOADS) for row in range(2)
    )
    accounts = documents(
        {name: rows(spark, location, name) for name in ("accounts", "accounts__lines")}, "accounts"
    )
    assert accounts["orphans"] == {}
    assert sorted(accounts["rows"], key=lambda row: row["id"]) == [
        {
            "client": client,
            "id": client * 1000 + pair,
            "lines": [{"value": value} for value in ["a", "b"][last % 2 :]],
            "load": last,
        }
        for client in range(CLIENTS)
        for pair in range((LOADS + 1) // 2)
        for last in [min(2 * pair + 1, LOADS - 1)]
    ]
    ledger = make_pipeline(location, tmp_path, spark).dataset()["_dlt_loads"].spark().collect()
    assert Counter(row["pipeline_name"] for row in ledger) == {
        f"client{number}": LOADS for number in range(CLIENTS)
    }
    print(f"{CLIENTS} clients, {LOADS} loads each; tried again: {dict(conflicts)}")  # noqa: T201 - the figures
