"""Rows that are new since the last run."""

import dlt


@dlt.resource(primary_key="id")
def events(updated=dlt.sources.incremental("updated_at", initial_value=1), until=4):
    for number in range(until + 1):
        yield {"id": number, "updated_at": number, "seen": str(updated.last_value)}


def run(extract):
    extract(events(until=3))
    extract(events(until=3))
    extract(events(until=6))
    extract(events)
