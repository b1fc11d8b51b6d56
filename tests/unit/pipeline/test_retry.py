"""The predicate for errors that are worth a retry."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import (
    DataError,
    InternalError,
    LoadClientJobFailed,
    LoadClientJobRetry,
    PipelineLocked,
    PipelineStepFailed,
    ResourceFailed,
    RetryableError,
    SourceExhausted,
    UsageError,
)
from penstock.pipeline.trace import TPipelineStep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

retry_load = penstock.retry.retry_load
STEPS: tuple[TPipelineStep, ...] = get_args(TPipelineStep)
PENSTOCK_ERRORS = st.sampled_from((UsageError, DataError, InternalError, RetryableError))
OTHER_ERRORS = st.sampled_from((ConnectionError, KeyError, RuntimeError, AssertionError))


def failed(step: str, error: Exception) -> PipelineStepFailed:
    pipeline = SimpleNamespace(pipeline_name="shop")
    return PipelineStepFailed(pipeline=pipeline, step=step, load_id="17.5", exception=error)


@given(
    step=st.sampled_from(STEPS),
    steps=st.sets(st.sampled_from(STEPS)),
    kind=st.one_of(PENSTOCK_ERRORS, OTHER_ERRORS),
)
def test_a_step_is_retried_if_it_is_listed_and_its_error_may_be_transient(
    step: TPipelineStep, steps: set[TPipelineStep], kind: type[Exception]
) -> None:
    may_pass = kind is RetryableError or not issubclass(kind, penstock.PenstockError)

    assert retry_load(tuple(steps))(failed(step, kind("no"))) is (step in steps and may_pass)


@given(kind=st.one_of(PENSTOCK_ERRORS, OTHER_ERRORS), steps=st.sets(st.sampled_from(STEPS)))
def test_an_error_before_any_step_is_judged_by_its_class(
    kind: type[Exception], steps: set[TPipelineStep]
) -> None:
    may_pass = kind is RetryableError or not issubclass(kind, penstock.PenstockError)

    assert retry_load(tuple(steps))(kind("no")) is may_pass


def test_a_load_is_retried_by_default() -> None:
    late = LoadClientJobRetry(load_id="1", job_id="j", retry_count=5, retry_message="timed out")
    refused = LoadClientJobFailed(load_id="1", job_id="j", failed_message="no such type")

    assert retry_load()(failed("load", late))
    assert not retry_load()(failed("load", refused))
    assert not retry_load()(failed("extract", late))
    assert not retry_load(())(failed("load", late))


def test_a_locked_pipeline_is_worth_a_retry() -> None:
    locked = PipelineLocked(pipeline="shop", host="h", process=1, user="u", age=1.0, alive=30.0)

    assert retry_load()(locked)


@pytest.mark.parametrize(
    ("cause", "worth_it"),
    [
        (ConnectionError("reset"), True),
        (KeyError("id"), True),
        (UsageError("no such page"), False),
        (None, True),
    ],
)
def test_an_error_of_user_code_is_judged_by_its_cause(cause: Exception | None, worth_it: bool) -> None:
    error = ResourceFailed(resource="orders", item=3, cause="it")
    error.__cause__ = cause

    assert retry_load(("extract",))(failed("extract", error)) is worth_it
    assert not retry_load()(failed("extract", error))


def test_an_error_that_wraps_one_of_penstock_is_judged_by_the_latter() -> None:
    def made_of(error: Exception, *, named: bool) -> Exception:
        outer = RuntimeError("the job failed")
        outer.__context__, outer.__cause__ = error, error if named else None
        return outer

    for named in (True, False):
        assert not retry_load()(made_of(DataError("no"), named=named))
        assert retry_load()(made_of(RetryableError("later"), named=named))
        assert not retry_load()(made_of(failed("extract", RetryableError("later")), named=named))
    assert retry_load()(made_of(KeyError("x"), named=True))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_an_interrupt_is_not_retried(error: BaseException) -> None:
    assert not retry_load(STEPS)(error)


def test_a_pickled_failure_is_judged_by_its_remaining_fields() -> None:
    unpickled = pickle.loads(pickle.dumps(failed("load", DataError("no"))))
    unknown = pickle.loads(pickle.dumps(failed("load", ConnectionError("reset"))))

    assert not retry_load()(unpickled)
    assert retry_load()(unknown)


@pytest.mark.parametrize("steps", ["load", ("loads",), ["load", "everything"]])
def test_an_unknown_step_is_refused(steps: str | tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="is no step of a pipeline"):
        retry_load(steps)


def test_the_steps_of_dlt_are_accepted() -> None:
    retry_load(("sync", "run", "extract", "normalize", "load"))


def test_an_exhausted_generator_is_not_read_again(tmp_path: Path) -> None:
    def rows() -> Iterator[int]:
        yield 1
        raise ConnectionError("reset")

    given_once, caught = rows(), list[BaseException]()
    for _ in range(2):
        with pytest.raises(penstock.PenstockError) as error:
            penstock.pipeline("shop", pipelines_dir=tmp_path).extract(given_once, table_name="t")
        caught.append(error.value)

    assert [retry_load(("extract",))(error) for error in caught] == [True, False]
    last = caught[1].exception if isinstance(caught[1], PipelineStepFailed) else caught[1]
    assert isinstance(last, SourceExhausted)


def test_tenacity_is_not_required() -> None:
    program = """
import sys
sys.modules["tenacity"] = None
import penstock
assert penstock.retry.retry_load()(ConnectionError("reset"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
