"""Contracts that evolve, freeze or discard."""

import dlt

pipeline = dlt.pipeline("frozen_schema", destination="duckdb", dataset_name="strict")
pipeline.run([{"id": 1}], table_name="items")
for mode in ("discard_row", "discard_value"):
    pipeline.run([{"id": 2}, {"id": 3, mode: 1}], table_name="items", schema_contract={"columns": mode})
try:
    pipeline.run([{"id": 4, "more": 1}], table_name="items", schema_contract={"columns": "freeze"})
except Exception:
    print("refused")
    pipeline.drop_pending_packages()
pipeline.run([{"id": "five"}], table_name="items", schema_contract={"data_type": "discard_value"})
pipeline.run([{"a": 1}], table_name="other", schema_contract={"tables": "discard_row"})
