"""A program for dlt's own Python: describes a dataset, loads rows into it, and describes it again."""

import gzip
import io
import json
import os
import sys

import dlt
import pyarrow.csv as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
from dlt.common.libs.deltalake import get_delta_tables

location, pipelines_dir, name, given = sys.argv[1:5]
options = json.loads(given)


files = options.get("files")
"""The format of plain files; None for Delta tables."""


@dlt.resource(name="items", **({} if files else {"table_format": "delta"}), **options["hints"])
def items():
    """Rows of the shape that penstock wrote."""
    yield from options["rows"]
    dlt.current.resource_state()["told"] = options.get("told")


def read_files(pipeline, table):
    """Return the rows of a table in all files that dlt lists for it."""
    readers = {"parquet": pq.read_table, "jsonl": pj.read_json, "csv": pc.read_csv}
    with pipeline._fs_client() as client:
        paths = client.list_table_files(table)
        result = [client.read_bytes(path, start=None, end=None) for path in paths]
    unpacked = [
        gzip.decompress(item) if path.endswith(".gz") else item
        for path, item in zip(paths, result, strict=True)
    ]
    return [row for item in unpacked for row in readers[files](io.BytesIO(item)).to_pylist()]


def describe(pipeline):
    """Return everything that dlt reads of the dataset, as plain data."""
    if files:
        rows = {
            table: read_files(pipeline, table) for table in sorted(pipeline.default_schema.data_table_names())
        }
    else:
        tables = get_delta_tables(pipeline)
        rows = {table: tables[table].to_pyarrow_table().to_pylist() for table in sorted(tables)}
    return {
        "schema": sorted(pipeline.default_schema.data_table_names()),
        "hash": pipeline.default_schema.version_hash,
        "state_version": pipeline.state["_state_version"],
        "told": [
            resource.get("told")
            for source in pipeline.state.get("sources", {}).values()
            for resource in source.get("resources", {}).values()
        ],
        "first_run": pipeline.first_run,
        "rows": {table: len(result) for table, result in rows.items()},
        "tables": rows,
    }


pipeline = dlt.pipeline(
    name,
    destination=dlt.destinations.filesystem(bucket_url=f"file://{location}"),
    dataset_name="demo",
    pipelines_dir=pipelines_dir,
)
pipeline.sync_destination()
before = describe(pipeline) if pipeline.default_schema_name else None
pipeline.run(items(), loader_file_format=files)
print(json.dumps({"before": before, "after": describe(pipeline)}), flush=True)
# Native threads that dlt's libraries leave behind abort the interpreter at its end now and then.
os._exit(0)
