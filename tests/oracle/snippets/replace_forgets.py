"""A resource that replaces its table begins anew."""

import dlt


def counting():
    state = dlt.current.resource_state()
    state["n"] = state.get("n", 0) + 1
    shared = dlt.current.source_state()
    shared["all"] = shared.get("all", 0) + 1
    yield {"n": state["n"]}


def run(extract):
    for disposition in ["append", "append", "replace", "replace", "append"]:
        extract(dlt.resource(counting, name="counting", write_disposition=disposition))
    extract(dlt.resource(counting, name="counting"), write_disposition="replace")
