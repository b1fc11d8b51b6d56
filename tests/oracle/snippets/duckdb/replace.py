"""A full load that replaces the one before."""

import dlt


@dlt.resource(write_disposition="replace")
def stock(day):
    yield [{"sku": f"s{number}", "day": day, "places": [{"shelf": number}]} for number in range(day)]


pipeline = dlt.pipeline("replace", destination="duckdb", dataset_name="shop")
pipeline.run(stock(3))
pipeline.run(stock(1))
