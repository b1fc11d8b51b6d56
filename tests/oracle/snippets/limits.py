"""So much and no more."""

import dlt

closed = []


@dlt.resource
def endless():
    try:
        number = 0
        while True:
            yield [{"n": number}, {"n": number + 1}]
            number += 2
    finally:
        closed.append(True)


@dlt.transformer
def twice(page):
    return page + page


def run(extract):
    extract(endless().add_limit(2))
    extract(endless().add_limit(3, count_rows=True))
    extract(endless().add_limit(0))
    extract(endless().add_limit(5).add_limit(1))
    extract(endless().add_filter(lambda row: row["n"] % 3 == 0).add_limit(2))
    extract(endless().add_limit(1) | twice)
    extract(dlt.source(lambda: endless, name="much")().add_limit(2))
    extract([{"closed": len(closed)}], table_name="closed")
