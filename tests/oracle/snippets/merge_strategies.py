"""The ways to merge, and their options."""

import dlt

ROWS = [{"id": 1}]


def merge(name, **options):
    return dlt.resource(
        ROWS, name=name, primary_key="id", write_disposition={"disposition": "merge", **options}
    )


def run(extract):
    extract(merge("a", strategy="upsert"))
    extract(merge("b", strategy="scd2"))
    extract(
        merge("c", strategy="scd2", validity_column_names=["Since", "Until"], boundary_timestamp="2024-01-01")
    )
    extract(merge("d", strategy="scd2", active_record_timestamp="9999-12-31", row_version_column_name="hash"))
    extract(merge("e", strategy="delete-insert", deduplicated=True))
    extract(merge("f", strategy="insert-only"))
    extract(merge("g"))
    extract(dlt.resource(ROWS, name="h", write_disposition={"disposition": "replace"}))
