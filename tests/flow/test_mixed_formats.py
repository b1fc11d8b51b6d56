"""Tables of several formats in one load and in one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.interfaces import Destination
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


SETTINGS: dict[str, Any] = {"optimize": True, "iceberg": {"catalog": "hadoop"}}
TABLES = ("plain", "merged", "frozen")


def source(number: int) -> list[Any]:
    rows = [{"id": number, "tags": [number]}]
    merged: dict[str, Any] = {"write_disposition": "merge", "primary_key": "id"}
    return [
        penstock.resource(rows, name="plain", write_disposition="replace"),
        penstock.resource(rows, name="merged", table_format="delta", **merged),
        penstock.resource(rows, name="frozen", table_format="iceberg", **merged),
    ]


def pipeline_of(location: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "mixed",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.filesystem(bucket_url=location, **SETTINGS),
        dataset_name="demo",
        spark=spark,
    )


def state(pipeline: penstock.Pipeline) -> dict[str, list[int]]:
    dataset = pipeline.dataset()
    columns = dict.fromkeys(TABLES, "id") | {f"{table}__tags": "value" for table in TABLES}
    text = " UNION ALL ".join(f"SELECT '{table}', {column} FROM {table}" for table, column in columns.items())
    result: dict[str, list[int]] = {table: [] for table in columns}
    for table, number in sorted(dataset(text).fetchall()):
        result[table].append(number)
    return result


def after(*numbers: int) -> dict[str, list[int]]:
    roots = {"plain": [numbers[-1]], "merged": list(numbers), "frozen": list(numbers)}
    return roots | {f"{table}__tags": result for table, result in roots.items()}


@pytest.mark.every_mode
def test_readers_see_tables_of_all_formats_together_or_not_at_all(
    location: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    pipeline = pipeline_of(location, tmp_path, spark)
    info = pipeline.run(source(1))
    assert {table.table: table.rows for table in info.packages[0].tables} == dict.fromkeys(after(1), 1)
    assert state(pipeline) == after(1)

    reference = pipeline.destination.reference  # type: ignore[union-attr]
    dying = Destination(
        "filesystem", CrashingDestination(reference, at=4, after=True), {"bucket_url": location, **SETTINGS}
    )
    with pytest.raises(Crash):
        pipeline_of(location, tmp_path, spark).run(source(2), destination=dying)
    assert state(pipeline) == after(1), "some tables of either kind have the second load"

    pipeline_of(location, tmp_path / "another machine", spark).run()
    assert state(pipeline) == after(1, 2)
    assert sorted(pipeline.dataset().tables)[3:] == sorted(after(1))
