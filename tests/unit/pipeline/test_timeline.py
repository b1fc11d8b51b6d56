"""The timeline of a run as HTML."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.pages.test_elements import HOSTILE, Reader

from penstock.pipeline.timeline import timeline
from penstock.pipeline.trace import PipelineTrace, StepTrace, StoredStepInfo

START = datetime(2026, 5, 6, 2, tzinfo=UTC)


def step(
    name: Any, after: float, seconds: float, *, document: dict[str, Any] | None = None, **facts: Any
) -> StepTrace:
    began = START + timedelta(seconds=after)
    info = StoredStepInfo(document={"loads_ids": [], **(document or {})}, text="")
    return StepTrace(step=name, seconds=seconds, started_at=began, finished_at=began, info=info, **facts)


def run(*steps: StepTrace) -> PipelineTrace:
    return PipelineTrace(
        transaction_id="5f",
        pipeline_name="shop",
        started_at=START,
        finished_at=START + timedelta(seconds=10),
        steps=steps,
    )


def job(table: str, after: float | None, **facts: Any) -> dict[str, Any]:
    times = [None, None] if after is None else [START + timedelta(seconds=after + more) for more in (0, 2)]
    started, finished = (None if time is None else time.isoformat() for time in times)
    return {
        "load_id": "1.5",
        "table_name": table,
        "started_at": started,
        "finished_at": finished,
        "state": "completed",
        "retry_count": 0,
        **facts,
    }


def test_steps_have_their_time_rows_size_and_spark_jobs() -> None:
    text = Reader(timeline(run(step("extract", 1, 2.5, rows=1234, bytes=2048, spark_jobs=3)).asdict())).text

    assert "extractextract: after 1.0 s, for 2.5 s1.0 s2.5 s1,2342.0 KB3" in text


def test_jobs_of_a_load_have_the_rows_of_their_tables() -> None:
    tables = [{"load_id": "1.5", "table": HOSTILE, "rows": 7, "bytes": None}]
    jobs = [job(HOSTILE, 4), job("orders", None), job("items", 5, retry_count=1, state="failed")]
    load = step("load", 3, 6, document={"tables": tables, "job_metrics": jobs})

    html = timeline(run(load).asdict())

    text = Reader(html).text
    assert f"{HOSTILE}{HOSTILE}: after 4.0 s, for 2.0 s4.0 s2.0 s7\u2013\u2013" in text
    assert "orders\u2013\u2013\u2013\u2013" in text, "an earlier process ran the job"
    assert "items, try 2" in text
    assert html.count('class="failed"') == 1
    assert "script" not in Reader(html).tags


def test_an_error_is_shown_with_its_code() -> None:
    failed = step("load", 1, 1, error=HOSTILE, error_code="table-not-found")

    reader = Reader(timeline(run(failed).asdict()))

    assert f"load failed (table-not-found): {HOSTILE}" in reader.text
    assert "script" not in reader.tags


def test_a_notebook_shows_the_timeline() -> None:
    trace = run(step("extract", 1, 2.5))

    assert str(timeline(trace.asdict())) in trace._repr_html_()
