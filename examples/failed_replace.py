"""A replace fails in the middle: one of its tables has its new rows, and the next one rejects them.

    python examples/failed_replace.py

Promise: readers see all old rows until they see all new ones. Spark logs the rejected row on standard error.
"""

import sys
import tempfile
from typing import Any

import penstock
from penstock.errors import PipelineStepFailed

OLD = [{"id": number, "price": 10, "lines": [{"sku": "old"}]} for number in range(3)]
NEW = [{"id": number, "price": number - 1, "lines": [{"sku": "new"}]} for number in range(5)]


def row_counts(dataset: Any) -> dict[str, int]:
    """Return the number of rows of both tables, and of new lines."""
    lines = dataset["orders__lines"].where("sku", "eq", "new").count()
    return {**dataset.row_counts(), "new lines": lines}


def main(folder: str) -> str | None:
    """Fail to replace all orders, then succeed; return the broken promise, if any."""
    penstock.config["load.raise_on_failed_jobs"] = True  # otherwise the tables of a failed job are left out
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline(
        "replaced", f"{folder}/pipelines", destination=lake, dataset_name="demo", progress="none"
    )
    pipeline.run(OLD, table_name="orders", write_disposition="replace")
    old = row_counts(pipeline.dataset())
    print(f"at first: {old}")

    spark = pipeline.dataset()["orders"].spark().sparkSession
    table = f"delta.`{folder}/lake/demo/orders`"
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT has_a_price CHECK (price >= 0)")
    try:
        pipeline.run(NEW, table_name="orders", write_disposition="replace")
    except PipelineStepFailed as failed:
        print(f"the replace failed in {failed.step}: {failed.exception}")
    else:
        return "an order with a price of -1 was not rejected"
    half = row_counts(pipeline.dataset(consistent=False))
    meanwhile = row_counts(pipeline.dataset())
    print(f"the tables themselves: {half}")
    print(f"what readers see: {meanwhile}")

    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT has_a_price")
    print(pipeline.run())
    new = row_counts(pipeline.dataset())
    print(f"after the constraint was dropped: {new}")
    if half != {"orders": 3, "orders__lines": 5, "new lines": 5}:
        return "the replace did not fail in the middle"
    if meanwhile != old:
        return "readers did not see the old rows"
    return None if new == {"orders": 5, "orders__lines": 5, "new lines": 5} else "new rows are missing"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
