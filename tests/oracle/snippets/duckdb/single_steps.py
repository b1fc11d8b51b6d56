"""Extract, normalize and load one after the other."""

import dlt

pipeline = dlt.pipeline("single_steps", destination="duckdb", dataset_name="steps")
pipeline.extract([{"id": 1, "list": [1, 2]}], table_name="items")
print(len(pipeline.list_extracted_load_packages()))
pipeline.normalize()
print(len(pipeline.list_normalized_load_packages()))
info = pipeline.load()
print(len(info.loads_ids), pipeline.has_data)
