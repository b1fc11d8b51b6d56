"""The session of these tests, and a folder in the bucket of the S3 gateway."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest
from tests.flow.factories import quick_session
from tests.service.bucket import keys

import penstock
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def location() -> Iterator[str]:
    """A folder in the bucket, empty and removed afterwards."""
    address = f"s3://{os.environ['PENSTOCK_TEST_S3_BUCKET']}/lakes-{uuid.uuid4().hex[:12]}"
    yield address
    FileStorage(address, credentials=keys()).delete("")


@pytest.fixture(scope="session")
def spark(session_of_mode: SparkSession) -> SparkSession:
    """The session of the mode, for few rows; it has no keys of the bucket."""
    return quick_session(session_of_mode)


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> penstock.Pipeline:
    """A pipeline to Delta tables on this machine."""
    return penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(str(tmp_path / "lake")),
        dataset_name="shop",
        spark=spark,
    )
