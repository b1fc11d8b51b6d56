"""The examples on the page on failures work as described."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tenacity import Retrying, retry_if_exception, stop_after_attempt

import penstock
from penstock.errors import LoadClientJobFailed, LoadClientJobRetry, PipelineStepFailed, ResourceFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "failures.md"
RETRIES, _, _ = PAGE.read_text(encoding="utf-8").partition("## Failed jobs")
EXTRACT, RUN = re.findall(r"^```python\n(.*?)^```", RETRIES, re.MULTILINE | re.DOTALL)


class Source:
    """Orders that come at the third time."""

    def __init__(self, failing: int) -> None:
        self.calls, self._failing = 0, failing

    def __call__(self) -> Iterator[Any]:
        self.calls += 1
        yield {"id": 1}
        if self.calls <= self._failing:
            raise ConnectionError("reset by peer")
        yield {"id": 2}


class Loading:
    """A pipeline whose loads fail so many times."""

    pipeline_name = "shop"

    def __init__(self, errors: list[Exception]) -> None:
        self.calls, self._errors = 0, errors

    def run(self) -> str:
        self.calls += 1
        if self._errors:
            error = self._errors.pop(0)
            raise PipelineStepFailed(pipeline=self, step="load", load_id="17.5", exception=error)
        return "loaded"


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """Seconds that would have been waited."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return pauses


def run_page(text: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(text, str(PAGE), "exec"), names)
    return names


def test_an_extraction_is_retried_until_the_source_answers(slept: list[float]) -> None:
    orders = Source(failing=2)

    names = run_page(EXTRACT, {"orders": orders})

    assert (orders.calls, slept) == (3, [1, 2])
    (load_id,) = names["pipeline"].list_extracted_load_packages()
    assert names["pipeline"].last_trace.last_extract_info.rows == 2
    assert load_id


def test_the_last_error_is_raised_after_the_last_attempt(slept: list[float]) -> None:
    orders = Source(failing=9)

    with pytest.raises(PipelineStepFailed) as failed:
        run_page(EXTRACT, {"orders": orders})

    assert isinstance(failed.value.exception, ResourceFailed)
    assert (orders.calls, slept) == (5, [1, 2, 4, 8])


def test_a_load_is_retried_unless_it_was_refused(slept: list[float]) -> None:
    attempts = run_page(EXTRACT, {"orders": Source(failing=0)})["attempts"]
    late = LoadClientJobRetry(load_id="17.5", job_id="j", retry_count=5, retry_message="timed out")
    refused = LoadClientJobFailed(load_id="17.5", job_id="j", failed_message="no such type")
    patient, hopeless = Loading([late, late]), Loading([late, refused])

    assert run_page(RUN, {"attempts": attempts, "pipeline": patient})["info"] == "loaded"
    with pytest.raises(PipelineStepFailed):
        run_page(RUN, {"attempts": attempts, "pipeline": hopeless})

    assert (patient.calls, hopeless.calls) == (3, 2)


def test_an_interrupt_ends_the_retries() -> None:
    calls: list[int] = []
    worth_it = retry_if_exception(penstock.retry.retry_load(("extract", "normalize", "load")))

    def interrupted() -> None:
        calls.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Retrying(stop=stop_after_attempt(3), retry=worth_it, reraise=True)(interrupted)

    assert calls == [1]
