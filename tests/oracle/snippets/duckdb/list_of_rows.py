"""A list of dictionaries."""

import dlt

rows = [{"id": 1, "name": "Ada", "languages": ["en", "fr"]}, {"id": 2, "name": "Grace", "languages": []}]
pipeline = dlt.pipeline("list_of_rows", destination="duckdb", dataset_name="people")
info = pipeline.run(rows, table_name="people")
print(len(info.loads_ids), info.has_failed_jobs, pipeline.dataset_name)
