"""A merge that keeps what exists."""

import dlt

options = {"disposition": "merge", "strategy": "insert-only"}
pipeline = dlt.pipeline("insert_only", destination="duckdb", dataset_name="log")
first, second = [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], [{"id": 2, "text": "c"}, {"id": 3}]
for rows in (first, second):
    pipeline.run(rows, table_name="events", write_disposition=options, primary_key="id")
