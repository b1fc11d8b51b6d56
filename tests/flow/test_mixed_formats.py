"""Tables of several kinds in one load and in one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.interfaces import Destination
from penstock.testing.promises import Crash, Mortal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def source(number: int) -> list[Any]:
    rows = [{"id": number, "tags": [number]}]
    merged: dict[str, Any] = {"table_format": "delta", "write_disposition": "merge", "primary_key": "id"}
    return [
        penstock.resource(rows, name="plain", write_disposition="replace"),
        penstock.resource(rows, name="merged", **merged),
    ]


def pipeline_of(location: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "mixed",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.filesystem(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )


def state(pipeline: penstock.Pipeline) -> dict[str, list[int]]:
    dataset = pipeline.dataset()
    columns = {"plain": "id", "merged": "id", "plain__tags": "value", "merged__tags": "value"}
    text = " UNION ALL ".join(f"SELECT '{table}', {column} FROM {table}" for table, column in columns.items())
    found: dict[str, list[int]] = {table: [] for table in columns}
    for table, number in sorted(dataset(text).fetchall()):
        found[table].append(number)
    return found


def after(*numbers: int) -> dict[str, list[int]]:
    return {
        "plain": [numbers[-1]],
        "merged": list(numbers),
        "plain__tags": [numbers[-1]],
        "merged__tags": list(numbers),
    }


@pytest.mark.every_mode
def test_plain_files_and_delta_are_seen_together_or_not_at_all(
    location: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    pipeline = pipeline_of(location, tmp_path, spark)
    info = pipeline.run(source(1))
    assert {table.table: table.rows for table in info.packages[0].tables} == dict.fromkeys(after(1), 1)
    assert state(pipeline) == after(1)

    reference = pipeline.destination.reference  # type: ignore[union-attr]
    dying = Destination("filesystem", Mortal(reference, at=3, after=True), {"bucket_url": location})
    with pytest.raises(Crash):
        pipeline_of(location, tmp_path, spark).run(source(2), destination=dying)
    assert state(pipeline) == after(1), "some tables of either kind have the second load"

    pipeline_of(location, tmp_path / "another machine", spark).run()
    assert state(pipeline) == after(1, 2)
    assert sorted(pipeline.dataset().tables)[3:] == sorted(after(1))
