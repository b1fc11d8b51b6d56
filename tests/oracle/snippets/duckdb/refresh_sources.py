"""Tables and state that begin again."""

import dlt


@dlt.source
def counters():
    @dlt.resource
    def up(number=dlt.sources.incremental("n", initial_value=0)):
        yield [{"n": number} for number in range(1, 4)]

    @dlt.resource
    def down():
        yield {"n": -1}

    return up, down


pipeline = dlt.pipeline("refresh_sources", destination="duckdb", dataset_name="numbers")
pipeline.run(counters())
pipeline.run(counters())
pipeline.run(counters().with_resources("up"), refresh="drop_resources")
pipeline.run(counters().with_resources("up"), refresh="drop_data")
pipeline.run(counters(), refresh="drop_sources")
