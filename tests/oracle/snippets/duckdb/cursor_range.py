"""A backfill of a range, and rows in descending order."""

import dlt


@dlt.resource
def readings(
    number=dlt.sources.incremental(
        "number", initial_value=3, end_value=7, row_order="desc", range_start="open"
    ),
):
    for value in range(10, 0, -1):
        yield {"number": value}
        if number.start_out_of_range:
            print("stopped at", value)
            return


pipeline = dlt.pipeline("cursor_range", destination="duckdb", dataset_name="sensors")
pipeline.run(readings())
