"""Columns, keys and other hints of a table."""

import dlt

ROWS = [{"Id": 1, "Full Name": "Ada"}]


def run(extract):
    extract(
        dlt.resource(ROWS, name="a", columns={"Id": {"data_type": "text"}, "Full Name": {"nullable": False}})
    )
    extract(dlt.resource(ROWS, name="b", columns=[{"name": "at", "data_type": "timestamp", "precision": 3}]))
    extract(
        dlt.resource(ROWS, name="c", primary_key=["Id", "part"], merge_key="day", write_disposition="merge")
    )
    extract(
        dlt.resource(
            ROWS, name="d", primary_key="Id", columns={"Id": {"data_type": "text", "nullable": True}}
        )
    )
    extract(
        dlt.resource(ROWS, name="e", columns={"gone": {"hard_delete": True}, "at": {"dedup_sort": "desc"}})
    )
    extract(dlt.resource(ROWS, name="My Table", table_format="delta", file_format="parquet"))
    extract(dlt.resource(ROWS, name="g", max_table_nesting=1))
