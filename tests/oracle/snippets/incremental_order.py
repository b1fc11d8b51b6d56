"""Rows in order: the generator is closed when nothing of the range can follow."""

import dlt

drawn = []


@dlt.resource
def rising(n=dlt.sources.incremental("n", initial_value=2, end_value=5, row_order="asc"), size=1):
    for number in range(0, 40, size):
        drawn.append(number)
        page = [{"n": number + more} for more in range(size)]
        yield page if size > 1 else page[0]


@dlt.resource
def falling(n=dlt.sources.incremental("n", initial_value=30, row_order="desc"), first=40):
    for number in range(first, 0, -1):
        drawn.append(number)
        yield {"n": number}


@dlt.transformer
def fed(page, n=dlt.sources.incremental("n", initial_value=38, row_order="desc")):
    yield page


def run(extract):
    extract(rising)
    extract(rising(size=4))
    extract(falling)
    extract(falling)
    extract(falling(first=45))
    extract(falling().with_name("for_others") | fed)
    extract([{"drawn": drawn}], table_name="drawn")
