"""Rows that are flagged as deleted, and sorted duplicates."""

import dlt


@dlt.resource(
    primary_key="id",
    write_disposition="merge",
    columns={"gone": {"hard_delete": True}, "version": {"dedup_sort": "desc"}},
)
def accounts(rows):
    yield rows


pipeline = dlt.pipeline("hard_delete", destination="duckdb", dataset_name="bank")
pipeline.run(accounts([{"id": number, "version": 1, "gone": False, "notes": ["n"]} for number in range(3)]))
pipeline.run(
    accounts(
        [
            {"id": 0, "version": 2, "gone": True},
            {"id": 1, "version": 3, "gone": False},
            {"id": 1, "version": 2, "gone": True},
        ]
    )
)
