"""A merge by primary key."""

import dlt

pipeline = dlt.pipeline("merge_by_key", destination="duckdb", dataset_name="shop")
for stage in ("open", "paid"):
    pipeline.run(
        [
            {"order": number, "stage": stage, "items": [{"sku": stage}]}
            for number in range(2 if stage == "paid" else 3)
        ],
        table_name="orders",
        write_disposition="merge",
        primary_key="order",
    )
