"""The pipeline of these tests: one lake, one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import penstock
from penstock.package import Packages

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def make(location: str, tmp_path: Path, spark: SparkSession | None, name: str = "quick") -> penstock.Pipeline:
    return penstock.pipeline(
        name,
        pipelines_dir=tmp_path / "pipelines",
        destination=penstock.destinations.delta(bucket_url=location),
        dataset_name="demo",
        spark=spark,
    )


def packages_of(location: str) -> Packages:
    return Packages.at(f"{location}/demo/_dlt_pkg/quick")
