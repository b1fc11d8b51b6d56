"""Folder digests by Spark equal those of a listing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.package.test_folder import DIGEST, FILES

from penstock.spark.folders import folder_aggregates, folder_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_and_a_listing_give_the_same_digest(spark: SparkSession) -> None:
    existing = [(f"file:/lake/packages/17.5/data/a/{name}", size) for name, size in FILES.items()]
    files = spark.createDataFrame(existing, "path STRING, length BIGINT")

    result = files.groupBy(folder_column("path", "/packages/17.5/")).agg(*folder_aggregates()).collect()

    assert [tuple(row) for row in result] == [("data/a", 2, 17, DIGEST)]
