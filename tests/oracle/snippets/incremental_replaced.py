"""A resource that replaces its table reads everything again."""

import dlt


def numbers(n=dlt.sources.incremental("n")):
    yield [{"n": 1, "from": n.last_value}, {"n": 2, "from": n.last_value}]


def run(extract):
    for disposition in ("append", "append", "replace", "replace", "append", "merge"):
        extract(dlt.resource(numbers, name="numbers", write_disposition=disposition, primary_key="n"))
    extract(dlt.resource(numbers, name="numbers"), write_disposition="replace")
