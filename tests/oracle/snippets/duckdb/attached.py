"""A pipeline that is attached by its name."""

import dlt

dlt.pipeline("attached", destination="duckdb", dataset_name="shop").run([{"id": 1}], table_name="items")
pipeline = dlt.attach("attached")
pipeline.run([{"id": 2}], table_name="items")
print(pipeline.pipeline_name, pipeline.dataset_name, pipeline.default_schema_name)
