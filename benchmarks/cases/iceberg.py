"""The same small append, into Iceberg tables of a catalog of files. dlt needs another catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from benchmarks.cases.append import run_appends

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from benchmarks.suite.plan import Plan
    from benchmarks.suite.results import CaseResult


def run(plan: Plan) -> dict[str, CaseResult]:
    """Append to Iceberg."""
    catalog = "spark.sql.catalog.hand"
    conf = {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(plan.folder / "hand"),
    }
    return {"iceberg": run_appends(plan, "iceberg", append, conf=conf)}


def append(frame: DataFrame, name: str) -> None:
    """Append to a table; the first time create it."""
    writer = frame.writeTo(f"hand.d.{name}").using("iceberg")
    try:
        writer.append()
    except AnalysisException:
        writer.create()
