"""Hints that are functions of a row."""

import dlt


@dlt.resource(
    table_name=lambda row: row["kind"],
    write_disposition=lambda row: "merge" if row["kind"] == "users" else "append",
    primary_key=lambda row: row["key"],
    columns=lambda row: {row["key"]: {"data_type": "bigint"}},
)
def mixed():
    yield {"kind": "users", "key": "user_id", "user_id": 1}
    yield {"kind": "logs", "key": "at", "at": 2}


def run(extract):
    extract(mixed)
    extract.declaring(lambda: dlt.resource([], name="one_table", write_disposition=lambda row: "append"))
    extract.declaring(
        lambda: dlt.resource([], name="unknown", write_disposition={"disposition": "merge", "strategy": "?"})
    )
