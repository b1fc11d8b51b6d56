"""Resources in threads, and deferred calls."""

import dlt


@dlt.resource(parallelized=True)
def left():
    yield from ({"n": number} for number in range(5))


@dlt.resource(parallelized=True)
def right():
    yield from ({"n": -number} for number in range(5))


@dlt.transformer(data_from=left)
def details(item):
    @dlt.defer
    def fetch(number):
        return {"n": number, "square": number**2}

    yield fetch(item["n"])


pipeline = dlt.pipeline("in_parallel", destination="duckdb", dataset_name="numbers")
pipeline.run([left(), right(), details()])
