"""Tables that are declared and get no rows."""

import dlt


@dlt.resource(columns=[{"name": "id", "data_type": "bigint"}])
def nothing_yet():
    yield dlt.mark.materialize_table_schema()


@dlt.resource(columns=[{"name": "id", "data_type": "bigint"}])
def never():
    yield from ()


def run(extract):
    extract(nothing_yet)
    extract(never)
