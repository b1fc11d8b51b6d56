"""Names as they come."""

import os

import dlt

os.environ["SCHEMA__NAMING"] = "direct"
rows = [{"ID": 1, "Full Name": "x", "Käse": [{"Größe": 1}]}]
pipeline = dlt.pipeline("naming", destination="duckdb", dataset_name="as_is")
pipeline.run(rows, table_name="MyTable")
