"""The load that all crash tests start from; it is recorded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.recorded_load import RecordedLoad, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _pending_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run after a crash loads all rows: those that are pending and its own."""
    monkeypatch.setenv("RUN__PENDING", "continue")


@pytest.fixture(scope="session")
def recorded(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RecordedLoad]:
    """One load in Delta, or in the format of the test's parameter, with an image at each of its steps."""
    lake = LAKES[getattr(request, "param", "delta")]
    with pytest.MonkeyPatch.context() as patch:
        yield record(tmp_path_factory.mktemp("crashes"), spark, lake, patch)
