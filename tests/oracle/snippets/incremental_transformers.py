"""Cursors of transformers, and of what feeds them."""

import dlt


@dlt.resource
def parents(n=dlt.sources.incremental("n", initial_value=2), upto=4):
    for number in range(upto):
        yield {"n": number}


@dlt.transformer
def children(parent, at=dlt.sources.incremental("at", initial_value=10)):
    for number in range(3):
        yield {"at": parent["n"] * 5 + number, "parent": parent["n"], "start": at.start_value}


@dlt.transformer
def pages(parent, at=dlt.sources.incremental("at")):
    return [{"at": parent["n"] * 2 + number} for number in range(2)]


def run(extract):
    extract(parents | children)
    extract(parents | children)
    extract(parents(upto=6) | children)
    extract([parents(upto=6).with_name("both"), parents(upto=6).with_name("both") | pages])
    extract(parents().with_name("both") | pages)
