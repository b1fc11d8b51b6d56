"""Results have the attributes that programs written for dlt read, with what was measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_text
from penstock.extract.report import ExtractInfo
from penstock.load.report import LoadInfo, PackageReport
from penstock.normalize.report import NormalizeInfo, NormalizeReport, RootReport
from penstock.package import LoadJobInfo, LoadPackageInfo
from penstock.package.metrics import DataWriterMetrics, LoadJobMetrics
from penstock.pipeline.trace import PipelineTrace, StepTrace, StoredStepInfo

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
STEP = "asdict asstr finished_at first_run is_empty load_packages loads_ids metrics pipeline started_at"
DLT_ATTRIBUTES: dict[type, str] = {
    LoadInfo: f"{STEP} dataset_name destination_displayable_credentials destination_fingerprint "
    "destination_name destination_type environment has_failed_jobs raise_on_failed_jobs "
    "staging_displayable_credentials staging_name staging_type",
    ExtractInfo: f"{STEP} extract_data_info",
    NormalizeInfo: f"{STEP} row_counts",
    PipelineTrace: "asdict asstr engine_version execution_context finished_at last_extract_info "
    "last_load_info last_normalize_info last_pipeline_step_trace pipeline_name resolved_config_values "
    "started_at steps transaction_id",
    StepTrace: "asdict asstr finished_at started_at step step_exception step_info",
    LoadPackageInfo: "asdict asstr completed_at dropped_tables jobs load_id package_path refresh schema "
    "schema_hash schema_migrated schema_name schema_update state truncated_tables",
    LoadJobInfo: "asdict asstr created_at elapsed failed_message file_path file_size job_file_info state",
}
"""The public attributes of dlt 1.31's results.

Left out are those of tuples, `span_id` and `exception_traces` of steps, of which nothing is recorded, and
`has_pending_transitions` of packages: a job has no state between two folders here.
"""


@pytest.fixture
def extracted(tmp_path: Path) -> tuple[penstock.Pipeline, ExtractInfo]:
    @penstock.resource(name="items")
    def items() -> Any:
        yield [{"id": 1, "tags": ["a", "b"]}, {"id": 2}]

    pipeline = penstock.pipeline("shop", pipelines_dir=str(tmp_path))
    return pipeline, pipeline.extract(items)


@pytest.mark.parametrize("result", DLT_ATTRIBUTES, ids=lambda result: result.__name__)
def test_results_have_the_attributes_of_dlt(result: type) -> None:
    present = {*dir(result), *getattr(result, "__dataclass_fields__", {})}

    assert set(DLT_ATTRIBUTES[result].split()) - present == set()


def test_a_result_describes_its_packages_as_they_are_stored(
    extracted: tuple[penstock.Pipeline, ExtractInfo],
) -> None:
    pipeline, info = extracted

    (package,) = info.load_packages

    assert info.pipeline is pipeline
    assert (info.is_empty, info.first_run) == (False, True)
    assert (package.load_id, package.state, package.schema_name) == (info.loads_ids[0], "extracted", "shop")
    assert package.jobs["new_jobs"][0].rows == 2
    assert info.asstr() == str(info)
    assert info.asstr(verbosity=1).endswith(package.asstr())
    assert info.asdict()["load_packages"][0]["jobs"][0]["table_name"] == "items"

    pipeline.drop_pending_packages()

    assert info.load_packages == []


def test_a_result_without_a_pipeline_has_no_packages_to_describe() -> None:
    info = NormalizeInfo(pipeline_name="shop")

    assert (info.load_packages, info.metrics, info.is_empty, info.first_run) == ([], {}, True, False)


def test_extraction_measures_jobs_tables_and_resources(
    extracted: tuple[penstock.Pipeline, ExtractInfo],
) -> None:
    _, info = extracted
    ((metrics,),) = info.metrics.values()
    (package,) = info.load_packages
    (job,) = package.jobs["new_jobs"]

    assert metrics["started_at"] <= metrics["finished_at"]
    assert metrics["schema_name"] == "shop"
    assert metrics["job_metrics"] == {
        job.job_file_info.job_id(): DataWriterMetrics(job.file_path, 2, job.file_size)
    }
    assert metrics["table_metrics"]["items"].items_count == 2
    assert metrics["resource_metrics"]["items"].file_size == job.file_size > 0
    assert info.extract_data_info == [{"name": "items", "data_type": "resource"}]
    assert info.asdict()["table_metrics"][0] == {
        "load_id": info.loads_ids[0],
        "table_name": "items",
        "file_path": "",
        "items_count": 2,
        "file_size": job.file_size,
        "created": None,
        "last_modified": None,
    }


def test_normalization_measures_rows_as_far_as_they_are_known() -> None:
    root = RootReport(table="items", rows_in=2, rows_out=2, tables=("items", "items__tags"))
    jobs = {"items.0a.reference": ("data/0", 40), "items__tags.0b.reference": ("data/0", None)}
    report = NormalizeReport(load_id="17.5", seconds=1.5, roots=(root,), started_at=NOW, jobs=jobs)

    metrics = report.metrics
    loaded = report.with_loaded({"items__tags": 3}).metrics

    assert metrics["finished_at"] == NOW + timedelta(seconds=1.5)
    assert metrics["table_metrics"]["items"] == DataWriterMetrics("", 2, 40)
    assert metrics["table_metrics"]["items__tags"].items_count is None
    assert loaded["job_metrics"]["items__tags.0b.reference"] == DataWriterMetrics("data/0", None, None)


def test_a_load_measures_its_jobs() -> None:
    job = LoadJobMetrics("items.0a.reference", "completed_jobs/x", "items", NOW, NOW, "completed")
    report = PackageReport(
        load_id="17.5", sequence=1, tables=(), seconds=2.0, dataset_name="shop", started_at=NOW, jobs=(job,)
    )
    info = LoadInfo(
        pipeline_name="shop", destination_name="delta", dataset_name="shop", location="x", packages=(report,)
    )

    ((metrics,),) = info.metrics.values()

    assert metrics == {
        "started_at": NOW,
        "finished_at": NOW + timedelta(seconds=2),
        "job_metrics": {"items.0a.reference": job},
        "dataset_name": "shop",
    }
    row = info.asdict()["job_metrics"][0]
    assert (row["load_id"], row["table_name"], row["started_at"]) == ("17.5", "items", NOW.isoformat())


def test_results_and_packages_are_rows(extracted: tuple[penstock.Pipeline, ExtractInfo]) -> None:
    pipeline, info = extracted
    package = info.load_packages[0]

    for row, start in (
        (info, '"loads_ids":["'),
        (pipeline.last_trace, '"transaction_id":"'),
        ({"info": info}, '"load_packages":[{"load_id":"'),
        (package, '"schema_name":"shop"'),
        ([package], '"schema_name":"shop"'),
    ):
        assert start in encode(row).decode()
        assert start in encode_text(row)
    again = pipeline.extract([info, info], table_name="_load_info")

    assert again.rows == 2


def test_a_stored_result_keeps_counts_and_facts(extracted: tuple[penstock.Pipeline, ExtractInfo]) -> None:
    pipeline, info = extracted
    root = RootReport(table="items", rows_in=2, rows_out=2, tables=("items",))
    normalized = NormalizeInfo(
        pipeline_name="shop", packages=(NormalizeReport(load_id="17.5", seconds=1.5, roots=(root,)),)
    )
    step = StepTrace.from_dict(
        StepTrace(step="normalize", seconds=1.5, info=normalized, started_at=NOW, error="no disk").asdict()
    )
    stored = next(pipeline.traces())

    assert stored.last_extract_info.location == info.location
    assert stored.last_extract_info.loads_ids == info.loads_ids
    assert stored.execution_context.keys() == {"cpu", "os", "python"}
    assert stored.steps[0].started_at is not None
    assert (step.started_at, step.step_exception) == (NOW, "no disk")
    assert step.step_info.asstr(1) == str(normalized)
    assert isinstance(step.info, StoredStepInfo)
    assert step.info.row_counts == {"items": 2}
    with pytest.raises(AttributeError):
        _ = stored.last_extract_info.rows_of_nothing
