"""The rows of a job as a frame, with their positions as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.destinations.sql.staging import POSITION
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.package import JobFile


def staged_frame(job: JobFile, spark: SparkSession, *, with_position: bool) -> DataFrame:
    """Return the rows of a job, with the column `POSITION` where rows are merged. No job is run."""
    if not with_position:
        return job.frame(spark)
    frame, position = job.frame(spark, position=POSITION), quote_name(POSITION)
    text = f"format_string('%06d/%s/%020d', {position}.part, {position}.file, {position}.row)"
    columns = [quote_name(name) for name in frame.columns if name != POSITION]
    return frame.selectExpr(*columns, f"{text} AS {position}")
