"""A generator function as a resource."""

import dlt


@dlt.resource(table_name="numbers", write_disposition="append")
def count(last):
    for number in range(last):
        yield {"number": number, "is_even": number % 2 == 0, "half": number / 2}


pipeline = dlt.pipeline("generator", destination="duckdb", dataset_name="mathematics")
pipeline.run(count(4))
pipeline.run(count(2))
