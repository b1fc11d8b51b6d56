"""A backfill cut into runs: each goes on where the one before stopped."""

import dlt


@dlt.resource
def rising(n=dlt.sources.incremental("n", row_order="asc"), size=1):
    start = n.last_value or 0
    for number in range(start, 9, size):
        page = [{"n": number + more, "part": part} for more in range(size) for part in (0, 1)]
        yield page
    yield {"n": 20, "part": 0}


@dlt.resource
def singles(n=dlt.sources.incremental("n", row_order="asc")):
    for number in range(6):
        for part in (0, 1):
            yield {"n": number, "part": part}


@dlt.resource
def mixed(n=dlt.sources.incremental("n")):
    for number in (3, 1, 2, 5, 4):
        yield {"n": number}


def run(extract):
    for _ in range(6):
        extract(rising(size=2).add_limit(1))
    for _ in range(3):
        extract(rising(size=3).with_name("counted").add_limit(3, count_rows=True))
    for _ in range(5):
        extract(singles().add_limit(3))
    for _ in range(3):
        extract(mixed().add_limit(2))
