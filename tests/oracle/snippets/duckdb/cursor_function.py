"""A cursor with another function than max."""

import dlt


def shortest(values):
    return min(values, key=len)


@dlt.resource
def names(rows, name=dlt.sources.incremental("name", last_value_func=shortest)):
    yield rows


pipeline = dlt.pipeline("cursor_function", destination="duckdb", dataset_name="words")
pipeline.run(names([{"name": "four"}, {"name": "sixsix"}]))
pipeline.run(names([{"name": "fiver"}, {"name": "one"}]))
print(pipeline.state["sources"]["cursor_function"]["resources"]["names"]["incremental"]["name"]["last_value"])
