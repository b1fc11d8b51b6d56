"""A load by the real dlt into Postgres; the process has dlt, and not penstock."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import dlt

url, dataset, folder, rows = sys.argv[1:]
pipeline = dlt.pipeline(
    "shop", destination=dlt.destinations.postgres(url), dataset_name=dataset, pipelines_dir=folder
)


def orders() -> Iterator[list[dict[str, Any]]]:
    """Yield the rows, and count the runs in the state of the resource."""
    state = dlt.current.resource_state()
    state["runs"] = state.get("runs", 0) + 1
    yield [{**row, "run": state["runs"]} for row in json.loads(rows)]


pipeline.run(dlt.resource(orders, name="orders", primary_key="id", write_disposition="merge"))
