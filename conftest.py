"""What holds for tests and for the examples in docstrings alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _deactivate_pipeline() -> Iterator[None]:
    """Deactivate the pipeline of a test: the last created one is active in the whole process."""
    yield
    pipeline = active_pipeline()
    if pipeline is not None:
        pipeline.deactivate()
