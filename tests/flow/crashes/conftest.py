"""The load that all crash tests start from; it is recorded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.crashes.lakes import DRIVER_ROWS, LAKES, driver_rows_of
from tests.flow.crashes.recorded_load import RecordedLoad, record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A run after a crash loads all rows: those that are pending and its own. The lake decides who writes."""
    monkeypatch.setenv("RUN__PENDING", "continue")
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    lakes = (parameters.get(name) for name in ("recorded", "baseline", "kind"))
    monkeypatch.setenv(DRIVER_ROWS, driver_rows_of(next(filter(None, lakes), None)))


@pytest.fixture(scope="session")
def recorded(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> RecordedLoad:
    """One load in Delta, or in the format of the test's parameter, with an image at each of its steps."""
    lake = LAKES[getattr(request, "param", "delta")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DRIVER_ROWS, driver_rows_of(lake.name))
        return record(tmp_path_factory.mktemp("crashes"), spark, lake, patch)
