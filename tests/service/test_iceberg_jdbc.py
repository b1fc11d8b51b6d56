"""Iceberg with its catalog in the Postgres that `make up` starts: several processes load into one dataset.

`PENSTOCK_TEST_PROCESSES` and `PENSTOCK_TEST_LOADS` set its size.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.iceberg_dataset import open_iceberg_dataset
from tests.service.bucket import jdbc_catalog

import penstock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROCESSES = int(os.environ.get("PENSTOCK_TEST_PROCESSES", "2"))
LOADS = int(os.environ.get("PENSTOCK_TEST_LOADS", "3"))
ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "iceberg_side" / "run_loads.py"


def rows_of(number: int, load: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return appended events, and accounts that come twice, the second time with a shorter list."""
    events = [{"client": number, "load": load, "row": row} for row in range(2)]
    lines = ["a", "b"][load % 2 :]
    return events, [{"id": number * 1000 + load // 2, "load": load, "lines": lines}]


def processes(location: str, folder: Path, dataset: str) -> None:
    command = [sys.executable, str(PROGRAM), location, str(folder)]
    environment = {
        **os.environ,
        "PENSTOCK_TEST_DATASET": dataset,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    running = [
        subprocess.Popen(
            [*command, str(number), str(LOADS)],
            env=environment,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for item in running:
        assert item.stdin is not None
        item.stdin.write("go\n")
        item.stdin.flush()
    output = [item.communicate() for item in running]
    for item, (_, errors) in zip(running, output, strict=True):
        assert item.returncode == 0, errors[-4000:]


@pytest.mark.at_length
def test_pipelines_of_several_processes_load_into_one_dataset_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    location, dataset = str(tmp_path / "lake"), f"d{uuid.uuid4().hex[:8]}"

    processes(location, tmp_path / "pipelines", dataset)

    pipeline = penstock.pipeline(
        "client0",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.iceberg(bucket_url=location, **jdbc_catalog(location)),
        dataset_name=dataset,
        spark=spark,
    )
    data = pipeline.dataset()
    everyone = [(number, load) for number in range(PROCESSES) for load in range(LOADS)]
    events = data("SELECT client, load, `row` FROM events").fetchall()
    assert sorted(events) == [(*item, row) for item in everyone for row in range(2)]
    accounts = data("SELECT id, load FROM accounts").fetchall()
    wanted = {number * 1000 + load // 2: load for number, load in everyone}
    assert dict(accounts) == wanted
    assert len(accounts) == len(wanted)
    lines = data(
        "SELECT a.id, l.value FROM accounts__lines l LEFT JOIN accounts a ON l._dlt_root_id = a._dlt_id"
    )
    assert sorted(lines.fetchall()) == sorted(
        (key, value) for key, load in wanted.items() for value in ["a", "b"][load % 2 :]
    )
    assert len(data.load_ids()) == PROCESSES * LOADS


@pytest.mark.at_length
def test_loads_that_follow_each_other_open_no_more_connections(spark: SparkSession, tmp_path: Path) -> None:
    location, name = str(tmp_path / "lake"), f"seen{uuid.uuid4().hex[:8]}"
    options = jdbc_catalog(location)
    output = {**options["catalog_properties"]}
    output["uri"] += f"?ApplicationName={name}"
    pipeline = penstock.pipeline(
        "connected",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.iceberg(location, **{**options, "catalog_properties": output}),
        dataset_name="demo",
        spark=spark,
    )

    def connections() -> int:
        reader = spark.read.format("jdbc").option("url", options["catalog_properties"]["uri"])
        reader = reader.option("user", output["jdbc.user"]).option("password", output["jdbc.password"])
        query = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'"
        return reader.option("query", query).load().count()

    seen = []
    for number in range(6):
        pipeline.run([{"id": number, "tags": ["a"]}], table_name="items")
        seen.append(connections())

    assert seen[0] > 0
    assert max(seen[2:]) <= max(seen[:2]), seen


@pytest.mark.at_length
def test_a_table_of_the_catalog_is_adopted(spark: SparkSession, tmp_path: Path) -> None:
    location = str(tmp_path / "lake")
    catalog = jdbc_catalog(location)
    rows = [{"id": number, "name": "old"} for number in range(5)]
    with open_iceberg_dataset(location, spark, **catalog) as theirs:
        theirs.tables.initialize(spark=theirs.spark)
        name = theirs.tables.sql_name("orders")
        theirs.spark.createDataFrame(rows, "id LONG, name STRING").writeTo(name).create()
    pipeline = penstock.pipeline(
        "adopted",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.iceberg(location, **catalog),
        dataset_name="demo",
        spark=spark,
    )

    @penstock.resource(primary_key="id", write_disposition="merge")
    def orders(number: Any = penstock.sources.incremental("id")) -> Any:
        assert number.start_value == 4
        yield [{"id": 4, "name": "old"}, {"id": 5, "name": "new"}]

    adoption = pipeline.adopt("orders", cursor="id", primary_key="id")
    info = pipeline.run(orders)

    assert (adoption.location, adoption.table.rows) == ("jdbc.demo", 5)
    assert [table.rows for package in info.packages for table in package.tables] == [1]
    assert sorted(pipeline.dataset()("SELECT id, name FROM orders").fetchall()) == [
        *((number, "old") for number in range(5)),
        (5, "new"),
    ]
