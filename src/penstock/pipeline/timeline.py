"""The timeline of a run as HTML: when its steps and the jobs of its tables ran, and what they did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.humanize import human_seconds, human_size
from penstock.pages.charts import time_bar
from penstock.pages.elements import Html, element, facts, fragment, table_element

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.pages.elements import Content

_HEADERS: Final = ("step", "time", "starts after", "takes", "rows", "size", "Spark jobs")
_NUMBERS: Final = ("starts after", "takes", "rows", "size", "Spark jobs")


def timeline(trace: Mapping[str, Any]) -> Html:
    """Return the steps of a run and the jobs of its tables on one scale of time, and its error.

    `trace` is the plain data of a `PipelineTrace`.

    >>> run = {"started_at": "2024-05-06T00:00:00+00:00", "finished_at": "2024-05-06T00:00:03+00:00"}
    >>> step = {"step": "load", "seconds": 2.5, "rows": 3, "error": "<b>", "info": {}}
    >>> page = timeline(run | {"steps": [step]})
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    run_start, run_end = (datetime.fromisoformat(trace[key]) for key in ("started_at", "finished_at"))
    scale = TimeScale(start=run_start, seconds=(run_end - run_start).total_seconds())
    context = trace.get("execution_context") or {}
    return fragment(
        facts(
            [
                ("started", f"{run_start:%Y-%m-%d %H:%M:%S} UTC"),
                ("took", human_seconds(scale.seconds)),
                ("Python", context.get("python")),
                ("processors", context.get("cpu")),
            ]
        ),
        (_failure(step) for step in trace["steps"] if step.get("error") is not None),
        table_element(
            "Steps of the run, and jobs of tables",
            _HEADERS,
            (row for step in trace["steps"] for row in _step_rows(step, scale)),
            numbers=_NUMBERS,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeScale:
    """The time of a run, on which its steps are drawn."""

    start: datetime
    seconds: float

    def cells(
        self, name: str, started_at: str | None, seconds: float | None, *, kind: str
    ) -> Sequence[Content]:
        """Return the bar, the start and the duration; no bar for what an earlier process did."""
        if started_at is None or seconds is None:
            return (None, None, None if seconds is None else human_seconds(seconds))
        start = max((datetime.fromisoformat(started_at) - self.start).total_seconds(), 0.0)
        label = f"{name}: after {human_seconds(start)}, for {human_seconds(seconds)}"
        bar = time_bar(label, start, seconds, self.seconds, kind=kind)
        return (bar, human_seconds(start), human_seconds(seconds))


def _failure(step: Mapping[str, Any]) -> Html:
    code = f" ({step['error_code']})" if step.get("error_code") else ""
    return element(
        "p", element("strong", f"{step['step']} failed{code}: "), step["error"], class_="note failure"
    )


def _step_rows(step: Mapping[str, Any], scale: TimeScale) -> Iterator[Sequence[Content]]:
    name = step["step"]
    kind = "step" if step.get("error") is None else "failed"
    yield (
        name,
        *scale.cells(name, step.get("started_at"), step["seconds"], kind=kind),
        _count_text(step.get("rows")),
        _size_text(step.get("bytes")),
        _count_text(step.get("spark_jobs")),
    )
    if name == "load":
        yield from (_job_row(job, step["info"], scale) for job in step["info"].get("job_metrics", ()))


def _job_row(job: Mapping[str, Any], load: Mapping[str, Any], scale: TimeScale) -> Sequence[Content]:
    """Return a job of a load; the rows and the size are those of its table in the package."""
    name, times = job["table_name"], (job.get("started_at"), job.get("finished_at"))
    started, finished = (None if text is None else datetime.fromisoformat(text) for text in times)
    seconds = (finished - started).total_seconds() if started and finished else None
    results: Iterator[Mapping[str, Any]] = (
        table
        for table in load.get("tables", ())
        if (table["table"], table["load_id"]) == (name, job["load_id"])
    )
    result = next(results, {})
    retries = f", try {job['retry_count'] + 1}" if job.get("retry_count") else ""
    return (
        element("span", f"{name}{retries}", class_="job"),
        *scale.cells(
            name, job.get("started_at"), seconds, kind="failed" if job["state"] == "failed" else "job"
        ),
        _count_text(result.get("rows")),
        _size_text(result.get("bytes")),
        None,
    )


def _count_text(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _size_text(size: int | None) -> str | None:
    return None if size is None else human_size(size)
