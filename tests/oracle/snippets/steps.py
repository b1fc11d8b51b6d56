"""Maps and filters, in their order and at given places."""

import dlt


def numbers():
    yield from ({"n": number} for number in range(6))
    yield [{"n": 6}, {"n": 7}]


def plus(amount):
    return lambda row: {"n": row["n"] + amount}


def times(factor):
    return lambda row: {"n": row["n"] * factor}


def fresh():
    return dlt.resource(numbers, name="numbers")


def run(extract):
    extract(fresh().add_map(plus(1)).add_map(times(10)))
    extract(fresh().add_map(plus(1)).add_map(times(10), insert_at=1))
    extract(fresh().add_filter(lambda row: row["n"] % 2 == 0).add_map(plus(100)))
    extract(fresh().add_map(lambda row: None if row["n"] == 2 else row))
    extract(fresh().add_filter(lambda row: row["n"] > 100))
    extract(fresh() | (lambda row: {"n": -row["n"]}))
    extract(fresh().add_step(lambda item: item if isinstance(item, list) else [item, item]))
    extract(fresh().add_map(lambda row, meta: {**row, "meta": meta}))
