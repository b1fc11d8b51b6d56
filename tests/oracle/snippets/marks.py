"""Items that name their table."""

import dlt


@dlt.resource(primary_key="id")
def letters():
    yield dlt.mark.with_table_name({"id": 1}, "incoming")
    yield dlt.mark.with_table_name([{"id": 2}, {"id": 3}], "outgoing")
    yield {"id": 4}


@dlt.transformer
def stamped(letter):
    letters = letter if isinstance(letter, list) else [letter]
    return [{**one, "stamped": True} for one in letters]


def run(extract):
    extract(letters)
    extract(letters().add_map(lambda letter: {**letter, "read": False}))
    extract(letters | stamped)
    extract(
        dlt.resource([{"id": 9}], name="late").add_map(lambda row: dlt.mark.with_table_name(row, "mapped"))
    )
