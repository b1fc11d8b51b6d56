"""Ranges that remember nothing, open and closed at both ends."""

import dlt


def rows(n):
    for number in (9, 10, 11, 12, 13):
        yield {"n": number, "last": n.last_value}


def run(extract):
    def ranged(**terms):
        @dlt.resource(name="ranged")
        def inner(n=dlt.sources.incremental("n", **terms)):
            yield from rows(n)

        return inner

    extract(ranged(initial_value=10, end_value=12))
    extract(ranged(initial_value=10, end_value=12, range_start="open", range_end="closed"))
    extract(ranged(initial_value=10, range_start="open"))
    extract(ranged(initial_value=10, range_start="open"))
    extract(ranged(initial_value=12, end_value=10, last_value_func=min))
    extract(ranged(initial_value=12, end_value=10, last_value_func="min", range_end="closed"))
    extract(ranged(initial_value=12, end_value=10))
    extract(ranged(end_value=12))
    extract(ranged(initial_value="10", end_value=12))
    extract(ranged(initial_value=11))
