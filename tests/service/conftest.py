"""The session of these tests, and a place in the bucket of the S3 gateway."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING

import pytest
from tests.conftest import classic_session
from tests.flow.making import few_rows
from tests.service.bucket import keys
from tests.service.mariadb import DRIVERS

import penstock
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def location() -> Iterator[str]:
    """A place in the bucket, empty and removed afterwards."""
    address = f"s3://{os.environ['PENSTOCK_TEST_S3_BUCKET']}/lakes-{uuid.uuid4().hex[:12]}"
    yield address
    FileStorage(address, credentials=keys()).delete("")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of a user who has all jars, since a JVM takes them as it starts, and no keys."""
    session = classic_session("delta", "iceberg", "s3", "postgres", *DRIVERS)
    yield few_rows(session)
    session.stop()


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path: Path) -> penstock.Pipeline:
    """To Delta tables on this machine."""
    return penstock.pipeline(
        "shop",
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(str(tmp_path / "lake")),
        dataset_name="shop",
        spark=spark,
    )
