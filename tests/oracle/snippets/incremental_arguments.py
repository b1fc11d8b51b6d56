"""The cursor as an argument: given whole, in part, as a bare value, or not at all."""

from typing import Optional

import dlt


@dlt.resource
def defaulted(n=dlt.sources.incremental("n", initial_value=2, row_order="asc")):
    seen = {"initial": n.initial_value, "end": n.end_value, "order": n.row_order, "start": n.start_value}
    yield {"n": 1, **seen}
    yield {"n": 5, **seen}


@dlt.resource
def optional(n: Optional[dlt.sources.incremental[int]] = None):
    yield {"n": 1, "has": n is not None}
    yield {"n": 2, "has": n is not None}


@dlt.resource
def needed(n: dlt.sources.incremental[int]):
    yield {"n": 1, "path": n.cursor_path}


@dlt.resource
def nothing(n: dlt.sources.incremental[int] = None):
    yield {"n": 1}


def run(extract):
    extract(defaulted)
    extract(defaulted(4).with_name("bare"))
    extract(defaulted(dlt.sources.incremental(initial_value=3)).with_name("part"))
    extract(defaulted(n=dlt.sources.incremental("n", initial_value=0, end_value=5)).with_name("whole"))
    extract(optional)
    extract(optional(dlt.sources.incremental("n", initial_value=2)).with_name("chosen"))
    extract(needed(dlt.sources.incremental("n")))
    extract(needed)
    extract(nothing)
    extract(defaulted(None).with_name("none"))
