"""Slowly changing rows."""

import dlt


@dlt.resource(write_disposition={"disposition": "merge", "strategy": "scd2"})
def customers(rows):
    yield rows


pipeline = dlt.pipeline("history", destination="duckdb", dataset_name="crm")
pipeline.run(customers([{"key": 1, "city": "Rome"}, {"key": 2, "city": "Bonn"}]))
pipeline.run(customers([{"key": 1, "city": "Oslo"}, {"key": 2, "city": "Bonn"}]))
pipeline.run(customers([{"key": 1, "city": "Oslo"}]))
