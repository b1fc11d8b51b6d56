"""The example of the README in a new process: seconds from the start of Python to rows on the screen.

The first run of all fetches jars and is not counted. By hand the same two tables are written with a given
schema, and one is read. dlt reads it by `deltalake`: `dataset()` would fetch an extension of DuckDB.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dev.parts.folders import find_folders

from benchmarks.suite.dlt_process import PYTHON, dlt_environment
from benchmarks.suite.fresh import compiled_environment, wall_seconds
from benchmarks.suite.results import BARE, DLT, PENSTOCK, SECONDS, CaseResult, collect

if TYPE_CHECKING:
    from benchmarks.suite.plan import Plan

ROOT: Final = Path(__file__).parents[2]
_DLT: Final = """
pipeline = dlt.pipeline("quick", destination=dlt.destinations.filesystem("quick_lake"), dataset_name="demo")
print(pipeline.run(orders, table_name="orders", table_format="delta"))
print(DeltaTable("quick_lake/demo/orders__items").to_pandas())
"""
_BY_HAND: Final = """
import os
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[*]")
    .config("spark.driver.extraClassPath", os.environ["PENSTOCK_TEST_JARS_DELTA"])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    .config("spark.sql.shuffle.partitions", "2").config("spark.databricks.delta.snapshotPartitions", "2")
    .getOrCreate()
)
schema = "id BIGINT, buyer STRUCT<name: STRING, city: STRING>, items ARRAY<STRUCT<sku: STRING, qty: BIGINT>>"
frame = spark.createDataFrame(orders, schema).coalesce(1)
tables = {
    "orders": frame.selectExpr("id", "buyer.name AS buyer__name", "buyer.city AS buyer__city"),
    "orders__items": frame.selectExpr("id AS parent", "inline(items)"),
}
for name, table in tables.items():
    table.write.format("delta").save(f"lake/{name}")
print(spark.read.format("delta").load("lake/orders__items").toPandas())
"""


def run(plan: Plan) -> dict[str, CaseResult]:
    """Run the sides in turns."""
    example = example_of((ROOT / "README.md").read_text(encoding="utf-8"))
    orders = re.search(r"^orders = \[.*?^\]\n", example, re.DOTALL | re.MULTILINE)
    assert orders is not None
    programs = {
        PENSTOCK: [sys.executable, "-c", example],
        BARE: [sys.executable, "-c", orders[0] + _BY_HAND],
        DLT: [os.environ[PYTHON], "-c", "import dlt\nfrom deltalake import DeltaTable\n" + orders[0] + _DLT],
    }
    home = find_folders().cache / "benchmarks-home"
    rounds = []
    for number in range(1 + plan.rounds):
        values = {}
        for side, program in programs.items():
            folder = plan.folder / f"{side} {number}"
            folder.mkdir()
            # The jars stay, as they do for users; the pipeline is new each time.
            shutil.rmtree(home / "pipelines", ignore_errors=True)
            homes = {"PENSTOCK_HOME": str(home), "DLT_DATA_DIR": str(folder / "dlt")}
            env = dlt_environment() if side == DLT else dict(os.environ)
            env = compiled_environment(plan.folder, {**env, **homes})
            values[side] = {SECONDS: wall_seconds(program, cwd=folder, env=env)}
            print(f"# {side}: {values[side]}", flush=True)
        rounds.append(values)
    title = "The example of the README in a new process, to rows on the screen"
    return {"readme": CaseResult(title=title, measures=collect(rounds[1:]))}


def example_of(readme: str) -> str:
    """Return the code of the example."""
    code = re.search(r"```python\n(.*?)```", readme.partition("<!-- example:")[2], re.DOTALL)
    assert code is not None
    return code[1]
