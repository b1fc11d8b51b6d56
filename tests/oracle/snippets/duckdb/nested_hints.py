"""Hints for a nested table."""

import dlt


@dlt.resource(
    primary_key="id",
    write_disposition="merge",
    nested_hints={
        "lines": dlt.mark.make_nested_hints(
            columns=[{"name": "price", "data_type": "decimal", "precision": 10, "scale": 2}]
        )
    },
)
def invoices(rows):
    yield rows


pipeline = dlt.pipeline("nested_hints", destination="duckdb", dataset_name="books")
pipeline.run(
    invoices([{"id": 1, "lines": [{"price": "1.25"}, {"price": 2}]}, {"id": 2, "lines": [{"price": 3}]}])
)
pipeline.run(invoices([{"id": 1, "lines": [{"price": "9.99", "note": "new"}]}]))
