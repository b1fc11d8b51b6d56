"""Pages of rows, empty ones, and nothing at all."""

import dlt


@dlt.resource(name="readings")
def meter():
    yield [{"n": 1}, {"n": 2}]
    yield []
    yield None
    yield {"n": 3}
    yield [{"n": 4}]


def run(extract):
    extract(meter())
