"""Nested values that stay whole."""

import dlt

ROW = {"id": 1, "a": {"b": {"c": [1, 2]}}, "list": [{"deep": [{"deeper": [True]}]}]}


@dlt.source(max_table_nesting=1)
def limited():
    return (
        dlt.resource([ROW], name="one"),
        dlt.resource([ROW], name="none", max_table_nesting=0),
    )


pipeline = dlt.pipeline("nesting_limit", destination="duckdb", dataset_name="deep")
pipeline.run(limited())
pipeline.run([ROW], table_name="whole")
