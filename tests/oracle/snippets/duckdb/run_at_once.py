"""A run without a declared pipeline."""

import dlt

info = dlt.run(
    [{"id": 1}, {"id": 2, "city": "Oslo"}],
    table_name="places",
    destination="duckdb",
    dataset_name="run_at_once",
)
print(len(info.loads_ids))
