"""Hints for columns."""

import dlt

columns = {
    "id": {"data_type": "bigint", "nullable": False, "unique": True, "description": "the key"},
    "late": {"data_type": "text"},
    "amount": {"data_type": "double"},
}
pipeline = dlt.pipeline("column_hints", destination="duckdb", dataset_name="hints")
pipeline.run([{"id": 1, "amount": 5}, {"id": "2", "amount": "2.5"}], table_name="items", columns=columns)
