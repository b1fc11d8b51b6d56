"""A nested value in a column of its own."""

import dlt


@dlt.resource(columns={"raw": {"data_type": "json"}, "options": {"data_type": "json", "nullable": False}})
def payloads():
    yield {"id": 1, "raw": {"b": [1, {"c": None}]}, "options": [1, 2]}
    yield {"id": 2, "options": {}}


pipeline = dlt.pipeline("json_column", destination="duckdb", dataset_name="raw_data")
pipeline.run(payloads())
print(
    pipeline.dataset()(
        "SELECT raw->'b'->1->>'c', json_array_length(raw->'b') FROM payloads ORDER BY id"
    ).fetchall()
)
