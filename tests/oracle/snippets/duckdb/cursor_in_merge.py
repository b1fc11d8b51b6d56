"""A cursor and a merge, with a lag."""

import dlt


@dlt.resource(primary_key="id", write_disposition="merge")
def tickets(pages, updated=dlt.sources.incremental("updated", initial_value=0, lag=2)):
    yield pages


pipeline = dlt.pipeline("cursor_in_merge", destination="duckdb", dataset_name="desk")
pipeline.run(tickets([{"id": 1, "updated": 5, "state": "new"}, {"id": 2, "updated": 7, "state": "new"}]))
pipeline.run(
    tickets([{"id": 1, "updated": 6, "state": "late"}, {"id": 2, "updated": 1, "state": "too late"}])
)
