"""Hints of nested tables; one with a key of its own is no longer nested."""

import dlt

ROWS = [{"id": 1, "Items": [{"sku": "a", "parts": [{"no": 1}]}]}]


@dlt.resource(
    nested_hints={
        "Items": dlt.mark.make_nested_hints(columns=[{"name": "sku", "data_type": "text"}]),
        ("Items", "parts"): dlt.mark.make_nested_hints(primary_key="no", write_disposition="merge"),
    }
)
def orders():
    yield ROWS


def run(extract):
    extract(orders)
    extract(
        dlt.resource(
            ROWS,
            name="others",
            nested_hints={
                "Items": dlt.mark.make_nested_hints(merge_key="sku", columns={"sku": {"nullable": True}})
            },
        )
    )
