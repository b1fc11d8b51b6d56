"""Nested rows with the key of their root."""

import dlt


@dlt.source(root_key=True)
def shop():
    return dlt.resource([{"id": 1, "a": [{"b": [{"c": 1}]}]}], name="items")


pipeline = dlt.pipeline("root_keys", destination="duckdb", dataset_name="keys")
pipeline.run(shop())
query = "SELECT count(*) FROM items__a__b b JOIN items i ON b._dlt_root_id = i._dlt_id"
print(pipeline.dataset()(query).fetchall())
