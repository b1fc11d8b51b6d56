"""A pandas frame and an Arrow table."""

import pandas as pd
import pyarrow as pa

import dlt

frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", None, "c"], "share": [0.5, 1.5, None]})
table = pa.table(
    {"Key": [1, 2], "when": pa.array([0, 1], pa.timestamp("us", tz="UTC")), "flag": [True, None]}
)


@dlt.resource(primary_key="id", write_disposition="merge")
def persons():
    yield frame
    yield frame.iloc[:1].assign(name="z").iloc[:0]


pipeline = dlt.pipeline("frames", destination="duckdb", dataset_name="framed")
pipeline.run(persons())
pipeline.run(table, table_name="flags")
