"""What holds for all tests: the folder is the marker, and how hard hypothesis looks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

TESTS = Path(__file__).parent

# A slow machine is not a failure: no time limit for one example, and no complaint about a slow start.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=25, **_PATIENT)  # type: ignore[arg-type]
settings.register_profile("ci", max_examples=100, **_PATIENT)  # type: ignore[arg-type]
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by the folder it stands in; a folder without a marker of its name is an error."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            item.add_marker(item.path.relative_to(TESTS).parts[0])
