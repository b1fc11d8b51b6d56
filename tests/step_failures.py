"""Assertions about failed steps of a pipeline."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PipelineStepFailed

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class CaughtFailure:
    """The error of a failed step."""

    value: Any = None
    failed: list[PipelineStepFailed] = field(default_factory=list)


@contextmanager
def step_raises(
    cause: type[Exception] | tuple[type[Exception], ...], match: str = "", *, step: str | None = None
) -> Iterator[CaughtFailure]:
    """Assert that a step fails in this block with this cause, like `pytest.raises`."""
    caught = CaughtFailure()
    with pytest.raises(PipelineStepFailed) as failed:
        yield caught
    caught.value, caught.failed = failed.value.exception, [failed.value]
    assert isinstance(caught.value, cause), caught.value
    assert caught.value is failed.value.__cause__
    assert re.search(match, str(caught.value)), caught.value
    assert step is None or failed.value.step == step
