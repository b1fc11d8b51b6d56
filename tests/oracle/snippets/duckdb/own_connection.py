"""A database of an open connection."""

import duckdb

import dlt

connection = duckdb.connect("open.duckdb")
pipeline = dlt.pipeline(
    "own_connection", destination=dlt.destinations.duckdb(connection), dataset_name="opened"
)
pipeline.run([{"id": 1}, {"id": 2}], table_name="items")
print(connection.sql("SELECT id FROM opened.items ORDER BY id").fetchall())
connection.close()
