"""A column whose values change their type."""

import dlt

pipeline = dlt.pipeline("changed_types", destination="duckdb", dataset_name="drift")
pipeline.run([{"id": 1, "size": 1, "when": "2024-01-01"}], table_name="items")
pipeline.run([{"id": 2, "size": "large", "new": {"a": 1}}], table_name="items")
pipeline.run([{"id": 3, "size": 2.5, "new": [1]}, {"id": "four", "size": True}], table_name="items")
print(list(pipeline.default_schema.tables["items"]["columns"]))
