"""`penstock pipeline NAME report --spark` reads the tables that need Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.flow.factories import make_pipeline

import penstock
from penstock.cli.report import pipeline_report

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_rows_of_partitioned_tables_are_counted_by_spark_where_it_is_requested(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline = make_pipeline(str(tmp_path / "lake"), tmp_path, spark)
    rows = [{"id": i, "day": i % 2} for i in range(4)]
    columns: dict[str, Any] = {"day": {"data_type": "bigint", "partition": True}}
    pipeline.run(penstock.resource(rows, name="orders", columns=columns))

    without_spark = pipeline_report(pipeline)
    with_spark = pipeline_report(pipeline, with_spark=True)

    assert [table.rows for table in without_spark.tables] == [None]
    assert [table.rows for table in with_spark.tables] == [4]
    assert with_spark.omissions == ()
