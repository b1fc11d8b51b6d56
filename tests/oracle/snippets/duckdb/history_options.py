"""Slowly changing rows with names and a boundary of their own."""

import dlt

options = {
    "disposition": "merge",
    "strategy": "scd2",
    "validity_column_names": ["since", "until"],
    "active_record_timestamp": "9999-12-31",
    "boundary_timestamp": "2024-08-21T12:15:00+00:00",
}
pipeline = dlt.pipeline("history_options", destination="duckdb", dataset_name="crm")
for price in (1, 2):
    options["boundary_timestamp"] = f"2024-08-2{price}"
    prices = dlt.resource(
        [{"sku": "a", "price": price}], name="prices", write_disposition=options, merge_key="sku"
    )
    pipeline.run(prices)
