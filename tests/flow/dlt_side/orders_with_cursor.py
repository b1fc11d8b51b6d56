"""A program for dlt, which penstock runs too: loads the rows of a file from the last value of a cursor on."""

import json
import os
from pathlib import Path

import dlt

requested = []


@dlt.resource(primary_key="id")
def orders(updated_at=dlt.sources.incremental("updated_at")):
    """Yield the rows that an API would send for this start."""
    for row in map(json.loads, Path("orders.jsonl").read_text(encoding="utf-8").splitlines()):
        if updated_at.start_value is None or row["updated_at"] >= updated_at.start_value:
            requested.append(row["id"])
            yield row


pipeline = dlt.pipeline(
    "shop",
    destination=os.environ["SHOP_DESTINATION"],
    dataset_name="raw",
    pipelines_dir=os.environ["SHOP_PIPELINES"],
)
if os.environ["SHOP_FORMAT"] == "delta":
    orders.apply_hints(table_format="delta")
    pipeline.run(orders())
else:
    pipeline.run(orders(), loader_file_format=os.environ["SHOP_FORMAT"])
normalized = pipeline.last_trace.last_normalize_info
loaded = 0 if normalized is None else normalized.row_counts.get("orders", 0)
print(json.dumps({"requested": requested, "loaded": loaded}), flush=True)
# Native threads that dlt's libraries leave behind abort the interpreter at its end now and then.
os._exit(0)
