"""A pipeline without its working folder goes on."""

import dlt


@dlt.resource
def rows(n=dlt.sources.incremental("n")):
    yield [{"n": number} for number in range(3)]


pipeline = dlt.pipeline("dropped", destination="duckdb", dataset_name="shop")
pipeline.run(rows())
pipeline.drop()
pipeline = dlt.pipeline("dropped", destination="duckdb", dataset_name="shop")
pipeline.run([{"n": 2}, {"n": 3}], table_name="others")
pipeline.run(rows())
