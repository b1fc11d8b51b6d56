"""A merge that updates and inserts."""

import dlt


@dlt.resource(write_disposition={"disposition": "merge", "strategy": "upsert"}, primary_key="id")
def users(rows):
    yield rows


pipeline = dlt.pipeline("upsert", destination="duckdb", dataset_name="crm")
pipeline.run(users([{"id": 1, "mail": "a@x", "tags": ["new", "vip"]}, {"id": 2, "mail": "b@x"}]))
pipeline.run(users([{"id": 1, "mail": "c@x", "tags": ["vip"]}, {"id": 3, "mail": "d@x"}]))
