"""The texts that `print` shows for runs with different results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.factories import make_pipeline
from tests.flow.test_failed_jobs import ROWS, block_table

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_infos_describe_a_successful_run_and_one_without_data(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    well, nothing = pipeline.run(ROWS, table_name="items"), pipeline.run()

    assert str(well).splitlines()[2:] == [
        f"Package {well.loads_ids[0]} is loaded:",
        "  items        1 row",
        "  items__tags  2 rows",
    ]
    assert (well.first_run, nothing.first_run) == (True, False)
    assert well.started_at is not None
    assert "had nothing to load into delta dataset 'demo'" in str(nothing)
    pipeline.run([well.asdict()], table_name="_load_info")
    assert pipeline.dataset().row_counts(table_names=["_load_info__tables"]) == {"_load_info__tables": 2}
    print(f"{well}\n\n{nothing}")  # noqa: T201 - to be looked at, with -s


@pytest.mark.at_length
def test_infos_describe_a_run_that_skips_a_table(
    spark: SparkSession, other: SparkSession, location: str, tmp_path: Path
) -> None:
    block_table(location, other, "named_struct('a', 1)")
    resources = [penstock.resource(ROWS, name="items"), penstock.resource([{"id": 7}], name="others")]

    info = make_pipeline(location, tmp_path, spark).run(resources)

    lines = str(info).splitlines()
    assert "is loaded without 2 jobs that failed:" in lines[2]
    assert lines[3] == "  others  1 row"
    assert [line.split(".")[0] for line in lines[4:6]] == ["  without items__tags", "  without items"]
    print(info)  # noqa: T201


@pytest.mark.at_length
@pytest.mark.every_mode
def test_infos_describe_a_run_that_resumes_a_package_on_another_machine(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__PENDING", "continue")
    first = make_pipeline(location, tmp_path / "here", spark)
    first.run(ROWS, table_name="items")
    first.extract(ROWS, table_name="items")

    info = make_pipeline(location, tmp_path / "elsewhere", spark).run([{"id": 2}], table_name="items")

    lines = str(info).splitlines()
    old, new = info.loads_ids
    assert f"Package {old}, pending from an earlier run, is loaded:" in lines
    assert f"Package {new} is loaded:" in lines
    assert [line for line in lines if line.startswith("note: state and schemas are restored from load")]
    assert info.asdict()["packages"][0]["was_pending"] is True
    print(info)  # noqa: T201


@pytest.mark.at_length
def test_infos_can_be_loaded_as_data(spark: SparkSession, location: str, tmp_path: Path) -> None:
    """Load the infos of a run; CI does the same without a trace."""
    pipeline = make_pipeline(location, tmp_path, spark)
    info = pipeline.run(ROWS, table_name="items")
    assert pipeline.last_trace is not None
    trace = pipeline.last_trace

    pipeline.run([info], table_name="_load_info")
    pipeline.run([trace.last_normalize_info.asdict()], table_name="_normalize_info")
    pipeline.run([trace.asdict()], table_name="_trace")

    counts = pipeline.dataset().row_counts()
    assert (counts["_load_info__tables"], counts["_normalize_info"], counts["_trace__steps"]) == (2, 1, 3)
    assert counts["_load_info__job_metrics"] == counts["_load_info__load_packages__jobs"] == 2
    ((metrics,),) = info.metrics.values()
    jobs = metrics["job_metrics"].values()
    assert all(metrics["started_at"] <= job.started_at <= job.finished_at for job in jobs)
    assert (info.destination_type, info.first_run) == ("penstock.destinations.delta", True)
