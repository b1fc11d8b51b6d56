"""Roll back to the previous load: a failed load is aborted, and an earlier load is read again.

    python examples/load_before.py

Promise: `drop_pending_packages` rolls tables and cursor back to the last complete load. Every complete load
has a row in `_dlt_loads` with the versions of its tables, so each can be read again with Spark. A complete
load cannot be rolled back by a command. Spark logs the rejected row on standard error.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import penstock
from penstock.errors import PipelineStepFailed


@penstock.resource
def sales(
    upto: int, price: int, since: Any = penstock.sources.incremental("id", initial_value=0)
) -> Iterator[Any]:
    """Sales with growing numbers, two lines in each; the cursor remembers the last one that was loaded."""
    for number in range(since.last_value + 1, upto + 1):
        yield {"id": number, "price": price, "lines": [{"sku": "a"}, {"sku": "b"}]}


def main(folder: str) -> str | None:
    """Fail, roll back, continue and read an earlier load; return the broken promise, if any."""
    penstock.config["load.raise_on_failed_jobs"] = True  # otherwise the tables of a failed job are left out
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline(
        "back", f"{folder}/pipelines", destination=lake, dataset_name="demo", progress="none"
    )

    def counts_and_cursor() -> dict[str, int]:
        state = pipeline.state["sources"]["back"]["resources"]["sales"]
        tables = pipeline.dataset(consistent=False).row_counts()
        return {**tables, "cursor": state["incremental"]["id"]["last_value"]}

    pipeline.run(sales(100, price=5))
    print(f"after the first load: {counts_and_cursor()}")
    spark = pipeline.dataset()["sales"].spark().sparkSession
    dataset_folder = f"{folder}/lake/demo"
    spark.sql(f"ALTER TABLE delta.`{dataset_folder}/sales` ADD CONSTRAINT has_a_price CHECK (price > 0)")
    try:
        pipeline.run(sales(150, price=0))
    except PipelineStepFailed as failed:
        print(f"the second load failed: {failed.exception}")
    partial = counts_and_cursor()
    print(f"the tables are partly written: {partial}")
    pipeline.drop_pending_packages()
    rolled_back = counts_and_cursor()
    print(f"rolled back: {rolled_back}")

    pipeline.run(sales(150, price=7))
    print(f"loaded again, with a price: {counts_and_cursor()}")
    loads = pipeline.dataset()["_dlt_loads"].order_by("sequence").select("load_id", "tables").fetchall()
    load_id, versions = loads[0][0], json.loads(loads[0][1])
    earlier = {
        table: spark.read.format("delta")
        .option("versionAsOf", version["after"])
        .load(f"{dataset_folder}/{table}")
        .count()
        for table, version in versions.items()
    }
    print(f"the tables after load {load_id}: {earlier}")
    if partial != {"sales": 100, "sales__lines": 300, "cursor": 150}:
        return "the second load did not fail in the middle"
    if rolled_back != {"sales": 100, "sales__lines": 200, "cursor": 100}:
        return "rows of the aborted load were not removed"
    if counts_and_cursor() != {"sales": 150, "sales__lines": 300, "cursor": 150}:
        return "rows are duplicated or lost"
    return None if earlier == {"sales": 100, "sales__lines": 200} else "the first load reads differently now"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
