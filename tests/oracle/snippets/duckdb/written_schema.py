"""Schemas that are exported."""

from pathlib import Path

import dlt

pipeline = dlt.pipeline(
    "written_schema", destination="duckdb", dataset_name="typed", export_schema_path="schemas/export"
)
pipeline.run([{"id": 1, "list": [{"price": 1.5}]}], table_name="items")
print([path.name for path in Path("schemas/export").iterdir()])
schema = dlt.Schema.from_dict(pipeline.default_schema.to_dict())
print({name: column["data_type"] for name, column in schema.tables["items__list"]["columns"].items()})
