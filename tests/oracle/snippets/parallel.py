"""Resources and transformers that run in threads."""

import dlt


@dlt.resource(parallelized=True)
def left():
    for number in range(5):
        yield {"n": number}


@dlt.resource(parallelized=True)
def right():
    for number in range(5, 9):
        yield {"n": number}


@dlt.transformer(parallelized=True)
def parts(row):
    for part in range(2):
        yield {"n": row["n"], "part": part}


@dlt.source(parallelized=True)
def both():
    return left, right, left | parts


def run(extract):
    extract([left(), right()])
    extract(both())
    extract(left().add_limit(2))
