"""Rows that are mapped, filtered and limited."""

import dlt


def without_name(row):
    return {**row, "name": len(row["name"])}


@dlt.resource
def persons():
    for number in range(20):
        yield {"id": number, "name": "x" * number}


data = persons().add_filter(lambda row: row["id"] % 2).add_map(without_name).add_limit(7)
data.add_yield_map(lambda row: ({**row, "copy": copy} for copy in range(2)))
dlt.pipeline("steps", destination="duckdb", dataset_name="people").run(data)
