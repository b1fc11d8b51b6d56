"""Cursors in threads and on the event loop."""

import asyncio

import dlt


@dlt.resource(parallelized=True)
def threaded(n=dlt.sources.incremental("n", initial_value=3)):
    for number in range(8):
        yield {"n": number, "start": n.start_value}


@dlt.resource(parallelized=True)
def other(n=dlt.sources.incremental("n", initial_value=5)):
    for number in range(8):
        yield [{"n": number}, {"n": number}]


@dlt.resource
async def looped(n=dlt.sources.incremental("n", initial_value=4)):
    for number in range(8):
        await asyncio.sleep(0)
        yield {"n": number}


@dlt.resource
def deferred(n=dlt.sources.incremental("n", initial_value=6)):
    @dlt.defer
    def page(number):
        return [{"n": number}, {"n": number + 1}]

    for number in range(8):
        yield page(number)


@dlt.transformer(parallelized=True)
def fed(row, n=dlt.sources.incremental("n", initial_value=5)):
    yield {"n": row["n"]}
    yield {"n": row["n"] + 1}


def run(extract):
    for _ in range(2):
        extract([threaded(), other(), looped(), deferred()])
    extract(threaded().with_name("source") | fed)
