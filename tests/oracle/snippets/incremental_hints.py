"""The cursor as a hint: in the decorator, later, as a dict, and over an argument."""

import dlt


@dlt.resource(incremental=dlt.sources.incremental("n", initial_value=2))
def decorated():
    yield [{"n": number} for number in range(4)]


@dlt.resource
def plain():
    yield [{"n": number} for number in range(4)]


@dlt.resource
def with_argument(n=dlt.sources.incremental("n", initial_value=1)):
    yield [{"n": number, "initial": n.initial_value} for number in range(4)]


def run(extract):
    extract(decorated)
    extract(plain)
    extract(plain().apply_hints(incremental=dlt.sources.incremental("n", initial_value=3)))
    extract(plain().with_name("dict").apply_hints(incremental={"cursor_path": "n", "initial_value": 1}))
    extract(with_argument().apply_hints(incremental=dlt.sources.incremental("n", initial_value=2)))
    extract(decorated().with_name("without").apply_hints(incremental=dlt.sources.incremental.EMPTY))
    extract(plain().with_name("keyed").apply_hints(primary_key="n", incremental=dlt.sources.incremental("n")))
    extract(plain().with_name("keyed").apply_hints(primary_key="n", incremental=dlt.sources.incremental("n")))
