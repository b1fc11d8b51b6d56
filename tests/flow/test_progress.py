"""Progress of a run, and the Spark jobs in its trace, in every mode."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.conftest import MODE
from tests.flow.factories import make_pipeline
from tests.recording_collector import RecordingCollector

from penstock.testing import nested_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces.progress import SparkStage

GROUP = "spark.jobGroup.id"
DESCRIPTION = "spark.job.description"


class Watching(RecordingCollector):
    """A collector that watches Spark's stages too."""

    shows_stages = True

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[SparkStage] = []

    def stages(self, running: Sequence[SparkStage]) -> None:
        self.seen += running


@pytest.mark.at_length
@pytest.mark.every_mode
def test_every_step_reports_its_rows_and_the_state_of_its_tables(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline, output = make_pipeline(location, tmp_path, spark), Watching()
    pipeline.collector = output

    info = pipeline.run(nested_rows(500), table_name="items")

    assert [step.split()[0] for step in output.steps] == ["extract", "normalize", "load"]
    assert output.counts["Tables"] == output.totals["Tables"] == 3
    assert output.counts["Jobs"] == output.totals["Jobs"] == 3
    # Rows of the resource, of the normalized table and of the loaded one.
    assert output.counts["items"] == 3 * 500
    assert output.counts["items__tags"] == 2 * 1000
    assert output.states["items"][-1] == "done"
    assert "shape" in output.states["items"]
    assert output.sizes["items"] == {table.table: table.bytes for table in info.packages[0].tables}["items"]
    assert pipeline.last_trace is not None
    jobs = {step.step: step.spark_jobs for step in pipeline.last_trace.steps}
    if MODE == "connect":
        assert jobs == {"extract": None, "normalize": None, "load": None}
    else:
        assert jobs["extract"] == 0
        assert (jobs["normalize"] or 0) >= 1
        assert (jobs["load"] or 0) >= 3
    print(f"Spark jobs: {jobs}")  # noqa: T201 - the figure, shown with -s


@pytest.mark.at_length
@pytest.mark.every_mode
def test_a_long_job_of_a_frame_reports_its_stages_and_its_rows(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline, output = make_pipeline(location, tmp_path, spark), Watching()
    pipeline.collector = output

    def slow(batches: Any) -> Any:
        for batch in batches:
            time.sleep(2)
            yield batch

    frame = spark.range(0, 8, 1, 4).mapInArrow(slow, "id long").withColumn("twice", F.col("id") * 2)

    pipeline.run(frame, table_name="numbers")

    assert any(stage.tasks >= 4 and stage.done < stage.tasks for stage in output.seen)
    assert pipeline.last_trace is not None
    if MODE != "connect":
        extracted = pipeline.last_trace.last_pipeline_step_trace("extract")
        assert extracted is not None
        assert (extracted.spark_jobs or 0) >= 1


@pytest.mark.skipif(MODE == "connect", reason="Connect has no descriptions of jobs")
@pytest.mark.every_mode
def test_jobs_are_described_in_sparks_ui_by_pipeline_package_step_and_table(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run([{"id": 1}], table_name="described")

    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    options = [jobs.apply(number).description() for number in range(jobs.size())]
    descriptions = {option.get() for option in options if option.isDefined()}
    package = f"{pipeline.pipeline_name} · {info.loads_ids[0]}"
    assert {f"{package} · {step} · described" for step in ("normalize", "load")} <= descriptions
    assert spark.sparkContext.getLocalProperty(DESCRIPTION) is None


@pytest.mark.skipif(MODE == "connect", reason="Connect has no groups of jobs")
@pytest.mark.every_mode
def test_the_users_spark_job_group_is_restored_after_a_run(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    pipeline, context = make_pipeline(location, tmp_path, spark), spark.sparkContext

    pipeline.run([{"id": 1}], table_name="items")
    group_without = context.getLocalProperty(GROUP)
    context.setJobGroup("cell 7", "a cell of a notebook")
    try:
        pipeline.run([{"id": 2}], table_name="items")
        within = context.getLocalProperty(GROUP)
    finally:
        for name in (GROUP, DESCRIPTION):
            context.setLocalProperty(name, None)  # type: ignore[arg-type] # the way to unset it

    assert (group_without, within) == (None, "cell 7")
    assert pipeline.last_trace is not None
    assert all((step.spark_jobs or 0) >= 1 for step in pipeline.last_trace.steps if step.step != "extract")
