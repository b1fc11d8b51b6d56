"""Items that change the hints of their resource, or of one table of it."""

import dlt

USERS = dlt.mark.make_hints(table_name="users", primary_key="id", write_disposition="merge")


def feed():
    yield {"id": 1}
    yield dlt.mark.with_hints({"id": 2}, USERS)
    yield {"id": 3}


def feed_with_variant():
    yield {"id": 1}
    yield dlt.mark.with_hints({"id": 2}, USERS, create_table_variant=True)
    yield {"id": 3}
    yield dlt.mark.with_table_name({"id": 4}, "users")


def growing():
    for name in ["a", "b"]:
        hints = dlt.mark.make_hints(columns=[{"name": name, "data_type": "text"}])
        yield dlt.mark.with_hints({name: "x"}, hints)


def run(extract):
    extract(feed)
    extract(feed_with_variant)
    extract(growing)
