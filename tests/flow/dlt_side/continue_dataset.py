"""Run by dlt's own Python: opens a dataset, tells what it sees, appends two rows, tells again."""

import json
import os
import sys

import dlt
from dlt.common.libs.deltalake import get_delta_tables

location, pipelines_dir, name = sys.argv[1:4]


@dlt.resource(name="items", table_format="delta", write_disposition="append")
def items():
    """Rows of the shape that penstock wrote."""
    for number in (100, 101):
        yield {"id": number, "name": f"dlt {number}", "tags": ["from dlt"], "seller": {"city": "x"}}


def seen(pipeline):
    """Everything that dlt knows of the dataset, as plain data."""
    tables = get_delta_tables(pipeline)
    return {
        "schema": sorted(pipeline.default_schema.data_table_names()),
        "hash": pipeline.default_schema.version_hash,
        "state_version": pipeline.state["_state_version"],
        "first_run": pipeline.first_run,
        "rows": {table: tables[table].to_pyarrow_table().num_rows for table in sorted(tables)},
    }


pipeline = dlt.pipeline(
    name,
    destination=dlt.destinations.filesystem(bucket_url=f"file://{location}"),
    dataset_name="demo",
    pipelines_dir=pipelines_dir,
)
pipeline.sync_destination()
before = seen(pipeline) if pipeline.default_schema_name else None
pipeline.run(items())
print(json.dumps({"before": before, "after": seen(pipeline)}), flush=True)
# Native threads that dlt's libraries leave behind abort the interpreter at its end now and then.
os._exit(0)
