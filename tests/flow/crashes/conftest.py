"""The load that all tests of crashes begin with; it is recorded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flow.crashes.recorded import Recorded, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(quick: SparkSession) -> SparkSession:
    """Each test is many loads of a few rows."""
    return quick


@pytest.fixture(scope="session")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """One load, undisturbed, with an image at each of its steps."""
    with pytest.MonkeyPatch.context() as patch:
        yield record(tmp_path_factory.mktemp("crashes"), spark, patch)
