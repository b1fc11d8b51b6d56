"""An async generator."""

import asyncio

import dlt


@dlt.resource
async def ticks():
    for number in range(3):
        await asyncio.sleep(0)
        yield {"tick": number}


dlt.pipeline("asynchronous", destination="duckdb", dataset_name="clock").run(ticks())
