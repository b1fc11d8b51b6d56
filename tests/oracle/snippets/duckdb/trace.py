"""What the trace of a run has."""

import dlt

pipeline = dlt.pipeline("trace", destination="duckdb", dataset_name="traced")
info = pipeline.run([{"id": 1, "list": [1, 2]}], table_name="items")
info.raise_on_failed_jobs()
counts = pipeline.last_trace.last_normalize_info.row_counts
print(counts["items"], counts["items__list"])
print([step.step for step in pipeline.last_trace.steps])
tables = info.load_packages[0].schema_update
print(sorted(name for name in tables if not name.startswith("_dlt")), info.load_packages[0].state)
