"""Calls that are made in threads."""

import dlt


@dlt.defer
def fetch(number):
    return [{"number": number, "square": number**2}]


@dlt.resource
def squares():
    for number in range(12):
        yield fetch(number)


@dlt.transformer
@dlt.defer
def cubes(row):
    return {"cube": row["number"] ** 3}


def run(extract):
    extract(squares)
    extract(dlt.resource([{"number": number} for number in range(7)], name="seeds") | cubes)
