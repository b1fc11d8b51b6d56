"""Cursors that somebody else began: states of older releases, and states that user code changes."""

import dlt


def known(entry):
    @dlt.resource(name="known")
    def inner():
        dlt.current.resource_state("begun").setdefault("incremental", {})["n"] = entry
        yield {"n": 0}

    return inner


@dlt.resource(primary_key="id")
def begun(n=dlt.sources.incremental("n", initial_value=100), rows=()):
    state = dlt.current.resource_state()["incremental"]["n"]
    yield [{**row, "last": state["last_value"]} for row in rows]


def run(extract):
    # The hash of 1 as dlt wrote it before 1.29, and after.
    for text in ("669czW83KR00ut4bv/U5", "669czW83KR00"):
        extract(known({"initial_value": 1, "last_value": 5, "unique_hashes": [text]}))
        extract(begun(rows=[{"n": 5, "id": 1}, {"n": 5, "id": 2}, {"n": 4, "id": 3}]))
        extract(begun(rows=[{"n": 5, "id": 1}, {"n": 5, "id": 2}, {"n": 6, "id": 1}]))
    extract(known({"initial_value": 1, "last_value": 7, "unique_hashes": []}))
    extract(begun(rows=[{"n": 7, "id": 1}]))
