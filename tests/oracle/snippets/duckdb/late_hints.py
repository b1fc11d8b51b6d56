"""Hints that are applied to a resource later."""

import dlt


def rows():
    yield [{"id": 1, "code": "7"}, {"id": 1, "code": "8"}]


resource = dlt.resource(rows, name="raw")
resource.apply_hints(
    table_name="clean",
    primary_key="id",
    write_disposition="merge",
    columns=[{"name": "code", "data_type": "bigint", "dedup_sort": "desc"}],
)
pipeline = dlt.pipeline("late_hints", destination="duckdb", dataset_name="hints")
pipeline.run(resource)
print(resource.compute_table_schema()["columns"]["id"].get("primary_key"), resource.write_disposition)
