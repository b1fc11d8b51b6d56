"""What holds for all tests without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.pipeline.active import active_pipeline, deactivate

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _nobody_is_active() -> Iterator[None]:
    """A pipeline that a test has made is not the active one of the next."""
    yield
    active = active_pipeline()
    if active is not None:
        deactivate(active)
