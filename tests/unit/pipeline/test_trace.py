from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.config import ResolvedValue
from penstock.errors import PipelineStepFailed
from penstock.load.report import PackageReport, TableReport
from penstock.pipeline.recorder import Recorder
from penstock.pipeline.trace import PipelineTrace, StepTrace, StoredStepInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.trace import TPipelineStep

HUSH = "hush-hush-hush"


class Watch:
    """Counts the jobs of Spark, as `SparkWatch` does."""

    def __init__(self, **jobs: int | None) -> None:
        self.begun: list[str] = []
        self._jobs = jobs

    def begin(self, step: str, load_id: str) -> None:
        self.begun.append(f"{step} {load_id}".strip())

    def job_count(self, step: str) -> int | None:
        return self._jobs.get(step)


@penstock.resource
def hub(pages: int = 1, token: penstock.TSecretStrValue = penstock.secrets.value) -> Iterator[Any]:
    assert token == HUSH
    yield from ({"page": page} for page in range(pages))


def test_a_trace_has_the_resolved_settings_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT__WORKERS", "3")
    monkeypatch.setenv("SOURCES__PAGES", "4")
    monkeypatch.setenv("SOURCES__TOKEN", HUSH)
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    pipeline.extract(hub)

    trace = pipeline.last_trace
    assert trace is not None
    assert ResolvedValue(provider="environment", key="EXTRACT__WORKERS", value="3") in (
        trace.resolved_config_values
    )
    files = list((tmp_path / "shop" / "traces").glob("*.json"))
    assert len(files) == 1
    assert HUSH not in files[0].read_text(encoding="utf-8")
    assert "  environment: EXTRACT__WORKERS = 3" in str(trace).splitlines()
    assert pipeline._history().last() == PipelineTrace.from_dict(trace.asdict())


def test_a_trace_has_no_settings_of_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    monkeypatch.setenv("EXTRACT__WORKERS", "3")
    pipeline.extract([1], table_name="t")
    monkeypatch.delenv("EXTRACT__WORKERS")

    pipeline.extract([1], table_name="t")

    assert pipeline.last_trace is not None
    keys = [value.key for value in pipeline.last_trace.resolved_config_values]
    assert "EXTRACT__WORKERS" not in keys


def test_a_step_has_its_spark_jobs_if_they_are_counted() -> None:
    recorder, watch = Recorder("shop"), Watch(normalize=4, load=None)
    recorder.watch = watch  # type: ignore[assignment]
    steps: tuple[TPipelineStep, ...] = ("extract", "normalize", "load")
    for step in steps:
        with recorder.step(step):
            pass

    trace = recorder.trace()

    assert watch.begun == ["extract", "normalize", "load"]
    assert [step.spark_jobs for step in trace.steps] == [None, 4, None]
    assert PipelineTrace.from_dict(trace.asdict()).steps[1].spark_jobs == 4


def test_a_failed_step_is_shown_with_its_error(tmp_path: Path) -> None:
    def bad() -> Iterator[Any]:
        yield 1
        raise KeyError("bad")

    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    with pytest.raises(PipelineStepFailed):
        pipeline.extract(bad, table_name="t")

    assert pipeline.last_trace is not None
    lines = str(pipeline.last_trace).splitlines()
    assert re.fullmatch(r"extract: \d+\.\d s", lines[1].split(",")[0])
    assert lines[2].startswith("extract failed: t raised KeyError('bad')")
    assert not any("nothing to extract" in line for line in lines)


def loaded(*tables: tuple[int | None, int | None]) -> PackageReport:
    reports = [
        TableReport(table=f"t{number}", rows=rows, version=None, skipped=False, bytes=size)
        for number, (rows, size) in enumerate(tables)
    ]
    return PackageReport(load_id="17.5", sequence=1, tables=tuple(reports), seconds=1.0)


@pytest.mark.parametrize(
    ("reports", "rows", "size"),
    [
        ([], 0, 0),
        ([loaded()], 0, 0),
        ([loaded((3, 10), (4, 20))], 7, 30),
        ([loaded((3, 10), (None, 20))], None, 30),
        ([loaded((3, 10)), loaded((None, 5))], None, 15),
        ([loaded((3, 10), (4, None))], 7, 10),
        ([loaded((3, None))], 3, None),
    ],
)
def test_a_number_that_a_load_does_not_report_is_unknown_and_never_zero(
    reports: list[PackageReport], rows: int | None, size: int | None
) -> None:
    recorder = Recorder("shop")
    with recorder.step("load"):
        for report in reports:
            recorder.record_loaded(report)

    (step,) = recorder.trace().steps

    assert (step.rows, step.bytes) == (rows, size)


class FailureHook(penstock.RunHooks):
    """Records the traces of failed runs."""

    def __init__(self) -> None:
        self.traces: list[str] = []

    def on_run_end(self, *, pipeline_name: str, trace: Any) -> None:
        self.traces.append(str(trace))


def fail(pipeline: penstock.Pipeline, error: Exception, *, note: str = "") -> None:
    """A call that fails in its load."""
    with pipeline._record_call("extract") as recorder:
        recorder.is_recorded = recorder.has_begun_work = True
        recorder.notes.append(note)
        with recorder.step("load"):
            raise error


def test_errors_of_other_libraries_are_recorded_without_secrets(tmp_path: Path) -> None:
    hook = FailureHook()
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, hooks=[hook])
    error = RuntimeError("jdbc:postgresql://ada:lovelace@db/x?password=hush does not answer")

    with pytest.raises(PipelineStepFailed) as failed:
        fail(pipeline, error)

    (written,) = (tmp_path / "shop" / "traces").glob("*.json")
    texts = [str(failed.value), str(pipeline.last_trace), written.read_text(encoding="utf-8"), *hook.traces]
    for text in texts:
        assert "RuntimeError: jdbc:postgresql://***@db/x?password=*** does not answer" in text
        assert "lovelace" not in text
        assert "hush" not in text


def test_an_error_with_invalid_characters_is_recorded_and_raised_unchanged(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    with pytest.raises(PipelineStepFailed, match="no file") as failed:
        fail(pipeline, OSError("no file \udcff"))

    assert isinstance(failed.value.exception, OSError)
    trace = pipeline._history().last()
    assert trace is not None
    assert trace.failed_step is not None
    assert trace.failed_step.error == "OSError: no file \\udcff"


def test_a_trace_that_cannot_be_written_replaces_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    with pytest.raises(PipelineStepFailed, match="no file"):
        fail(pipeline, OSError("no file"), note="\udcff")

    assert "the trace of this run cannot be written" in caplog.text


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, "load: 2.5 s"),
        ({"rows": 1, "bytes": 0}, "load: 2.5 s, 1 row"),
        ({"rows": 0, "bytes": 2048, "spark_jobs": 1}, "load: 2.5 s, 0 rows, 2.0 KB, 1 Spark job"),
        ({"error": "it is closed"}, "load: 2.5 s\nload failed: it is closed"),
    ],
)
def test_the_summary_of_a_step_has_the_known_values(facts: dict[str, Any], text: str) -> None:
    info = StoredStepInfo(document={"loads_ids": []}, text="")

    assert StepTrace(step="load", seconds=2.5, info=info, **facts).summary() == text


def test_the_text_of_an_extraction_has_its_location(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    pipeline.extract([{"id": 1}], table_name="items")

    assert pipeline.last_trace is not None
    lines = str(pipeline.last_trace).splitlines()

    assert f"  Pipeline 'shop' extracted 1 row to {tmp_path}/shop/extracted" in lines
