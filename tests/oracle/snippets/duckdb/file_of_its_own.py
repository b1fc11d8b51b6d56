"""A database in a file with another name."""

import dlt

destination = dlt.destinations.duckdb("data_files.duckdb")
pipeline = dlt.pipeline("file_of_its_own", destination=destination, dataset_name="files")
pipeline.run([{"id": 1}], table_name="items")
pipeline = dlt.pipeline(
    "file_of_its_own",
    destination=dlt.destinations.duckdb(credentials="duckdb:///data_files.duckdb"),
    dataset_name="more",
)
pipeline.run([{"id": 2}], table_name="items")
