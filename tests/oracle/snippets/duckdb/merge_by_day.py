"""A merge that replaces whole days."""

import dlt


@dlt.resource(primary_key=("day", "hour"), merge_key="day", write_disposition="merge")
def visits(rows):
    yield rows


pipeline = dlt.pipeline("merge_by_day", destination="duckdb", dataset_name="web")
pipeline.run(
    visits(
        [{"day": "mon", "hour": hour, "count": 1} for hour in range(3)]
        + [{"day": "tue", "hour": 0, "count": 5}]
    )
)
pipeline.run(visits([{"day": "mon", "hour": 7, "count": 2}]))
