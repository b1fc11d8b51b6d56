"""A dataset of plain files of one tool is continued by the other: state, schema and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.test_interop import check_turns, dlt_continues

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def make(location: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "quick",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.filesystem(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )


def seen_ids(output: dict[str, Any]) -> list[int]:
    return sorted(row["id"] for row in output["tables"]["items"])


def ids(pipeline: penstock.Pipeline) -> list[int]:
    return sorted(row[0] for row in pipeline.dataset()["items"].select("id").fetchall())


@pytest.mark.at_length
def test_dlt_continues_files_of_penstock_and_penstock_continues_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    check_turns(make(location, tmp_path, spark), location, tmp_path, "parquet")


@pytest.mark.at_length
def test_penstock_continues_files_of_dlt_and_each_replaces_those_of_the_other(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(name="items")
    def items(*numbers: int) -> Any:
        state = penstock.current.resource_state()
        seen.append(state.get("told"))
        state["told"] = "by penstock"
        yield from ({"id": number, "weight": number} for number in numbers)

    seen: list[Any] = []
    dlt_continues(location, tmp_path / "dlt", files="parquet")
    actual = make(location, tmp_path, spark)
    assert ids(actual) == [100, 101], "before anything of ours is there"

    info = actual.run(items(1, 2))
    output = dlt_continues(location, tmp_path / "dlt elsewhere", files="parquet")
    assert info.packages[0].sequence == 1
    assert seen_ids(output["before"]) == [1, 2, 100, 101]
    assert output["before"]["told"] == ["by penstock"]
    assert ids(actual) == [1, 2, 100, 100, 101, 101]

    actual.run(items(3), write_disposition="replace")
    assert ids(actual) == [3]
    assert seen == ["by dlt", None], "a replace begins with a new state"
    again = dlt_continues(
        location, tmp_path / "dlt again", rows=[{"id": 9}], files="parquet", write_disposition="replace"
    )
    assert (seen_ids(again["before"]), seen_ids(again["after"])) == ([3], [9])
    assert ids(actual) == [9]
    actual.run(items(10), write_disposition="append")
    assert ids(actual) == [9, 10]


@pytest.mark.parametrize("options", ["jsonl", "csv"])
@pytest.mark.at_length
def test_json_lines_of_dlt_are_read(options: str, spark: SparkSession, location: str, tmp_path: Path) -> None:
    dlt_continues(location, tmp_path / "dlt", files=options)
    actual = make(location, tmp_path, spark)

    result = actual.dataset()["items"].order_by("id").select("id", "name", "seller__city").fetchall()

    assert result == [(100, "dlt 100", "x"), (101, "dlt 101", "x")]
