"""Arrow tables with a cursor."""

import pyarrow as pa

import dlt


@dlt.resource
def values(until, n=dlt.sources.incremental("n", initial_value=2)):
    yield pa.table({"n": list(range(until)), "text": [f"t{number}" for number in range(until)]})


pipeline = dlt.pipeline("frames_with_cursor", destination="duckdb", dataset_name="framed")
pipeline.run(values(5))
pipeline.run(values(7))
