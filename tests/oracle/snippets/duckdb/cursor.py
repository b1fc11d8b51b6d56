"""Only rows that are newer than those of the last run."""

import dlt

EVENTS = [{"id": number, "at": f"2024-01-{number:02d}T00:00:00Z"} for number in range(1, 8)]


@dlt.resource(primary_key="id")
def events(until, at=dlt.sources.incremental("at", initial_value="2024-01-02T00:00:00Z")):
    print(at.start_value)
    yield from (event for event in EVENTS if event["id"] <= until)


pipeline = dlt.pipeline("cursor", destination="duckdb", dataset_name="log")
pipeline.run(events(4))
pipeline.run(events(6))
