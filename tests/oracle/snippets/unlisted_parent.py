"""A source that lists only the transformer."""

import dlt


@dlt.resource
def numbers():
    yield from range(4)


@dlt.transformer
def squares(number):
    return {"number": number, "square": number**2}


@dlt.source
def maths():
    return numbers | squares


def run(extract):
    source = maths()
    extract(source)
    extract([{"name": name} for name in source.resources], table_name="names")
