"""A new dataset in each run."""

import dlt

pipeline = dlt.pipeline("development", destination="duckdb", dataset_name="trial", dev_mode=True)
pipeline.run([{"id": 1}], table_name="items")
print(pipeline.dataset_name.startswith("trial_20"))
