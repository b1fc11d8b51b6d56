"""Events that are dispatched to a table of their type."""

import dlt

EVENTS = [
    {"type": "push", "id": 1, "size": 3},
    {"type": "star", "id": 2},
    {"type": "Push Tag", "id": 3, "tags": ["v1"]},
]


@dlt.resource(primary_key="id", table_name=lambda event: event["type"], write_disposition="append")
def events():
    yield EVENTS


pipeline = dlt.pipeline("many_tables", destination="duckdb", dataset_name="repo")
pipeline.run(events)
print(sorted(pipeline.default_schema.data_table_names()))
