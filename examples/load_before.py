"""Back to the load before: a load that is stuck is given up, and an earlier load is read once more.

    python examples/load_before.py

Promise: `drop_pending_packages` brings tables and cursor back to what the last complete load left. And
every complete load has its row in `_dlt_loads`, with the version that it gave each table: so each can be
read again with Spark. There is no command that takes back a complete load. Spark tells of the refused row
on standard error, at length.
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
    """Get stuck, go back, go on and look back; gives what is wrong, if anything is."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake")
    pipeline = penstock.pipeline(
        "back", f"{folder}/pipelines", destination=lake, dataset_name="demo", progress="none"
    )

    def standing() -> dict[str, int]:
        state = pipeline.state["sources"]["back"]["resources"]["sales"]
        tables = pipeline.dataset(consistent=False).row_counts()
        return {**tables, "cursor": state["incremental"]["id"]["last_value"]}

    pipeline.run(sales(100, price=5))
    print(f"after the first load: {standing()}")
    spark = pipeline.dataset()["sales"].spark().sparkSession
    place = f"{folder}/lake/demo"
    spark.sql(f"ALTER TABLE delta.`{place}/sales` ADD CONSTRAINT has_a_price CHECK (price > 0)")
    try:
        pipeline.run(sales(150, price=0))
    except PipelineStepFailed as failed:
        print(f"the second load is stuck: {failed.exception}")
    stuck = standing()
    print(f"then the tables are half done: {stuck}")
    pipeline.drop_pending_packages()
    back = standing()
    print(f"given up: {back}")

    pipeline.run(sales(150, price=7))
    print(f"loaded again, with a price: {standing()}")
    loads = pipeline.dataset()["_dlt_loads"].order_by("sequence").select("load_id", "tables").fetchall()
    load_id, versions = loads[0][0], json.loads(loads[0][1])
    earlier = {
        table: spark.read.format("delta").option("versionAsOf", at["after"]).load(f"{place}/{table}").count()
        for table, at in versions.items()
    }
    print(f"as load {load_id} left them: {earlier}")
    if stuck != {"sales": 100, "sales__lines": 300, "cursor": 150}:
        return "the second load was not stuck in the middle"
    if back != {"sales": 100, "sales__lines": 200, "cursor": 100}:
        return "something of the load that was given up is left"
    if standing() != {"sales": 150, "sales__lines": 300, "cursor": 150}:
        return "rows are doubled or lost"
    return None if earlier == {"sales": 100, "sales__lines": 200} else "the first load reads differently now"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
