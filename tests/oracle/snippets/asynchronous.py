"""Asynchronous generators and transformers."""

import asyncio

import dlt


@dlt.resource
async def ticks():
    for number in range(4):
        await asyncio.sleep(0)
        yield {"tick": number}


@dlt.transformer
async def doubled(row):
    await asyncio.sleep(0)
    return {"double": row["tick"] * 2}


@dlt.transformer
async def spread(row):
    for part in range(2):
        await asyncio.sleep(0)
        yield {"tick": row["tick"], "part": part}


def run(extract):
    extract(ticks)
    extract(ticks | doubled)
    extract(ticks | spread)
    extract(ticks().add_limit(2))
