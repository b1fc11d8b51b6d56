"""A resource that remembers."""

import dlt


@dlt.resource
def visits():
    state = dlt.current.resource_state()
    state["count"] = state.get("count", 0) + 1
    state.setdefault("seen", []).append({"visit": state["count"]})
    yield {"visit": state["count"]}


@dlt.resource
def onlooker():
    yield {"seen": dlt.current.resource_state("visits").get("count", 0)}


def run(extract):
    extract(visits)
    extract(visits)
    extract([visits(), onlooker()])
