"""Names that are normalized."""

import dlt

rows = [
    {
        "userID": 1,
        "HTTPCode": 2,
        "with space": 3,
        "+1": 4,
        "a__b": 5,
        "émile": 6,
        "nested.key": {"Sub-Key": 7},
        "1st": 8,
    }
]
pipeline = dlt.pipeline("names_in_snake_case", destination="duckdb", dataset_name="SnakeCase")
pipeline.run(rows, table_name="Some-Table Name")
print(pipeline.dataset_name, pipeline.default_schema_name)
