"""Cursors inside a row."""

import dlt

ROWS = [
    {"id": 1, "a": {"b": 3}, "list": [{"x": 1}, {"x": 9}], "a.b": 7, "my col": 5, "k-k": 2},
    {"id": 2, "a": {"b": 4}, "list": [{"x": 2}], "a.b": 6, "my col": 6, "k-k": 3},
]
PATHS = [
    "a.b",
    "$.a.b",
    "a['b']",
    "$['a.b']",
    "'a.b'",
    "['a.b']",
    '"my col"',
    "k-k",
    "list[*].x",
    "$.list[0].x",
    "list[-1].x",
    "$..x",
    "a.*",
]


def run(extract):
    for number, path in enumerate(PATHS):
        for _ in range(2):
            terms = dlt.sources.incremental(path)
            extract(dlt.resource(ROWS, name=f"r{number}", primary_key="id", incremental=terms))
    extract(dlt.resource([{"list": []}], name="short", incremental=dlt.sources.incremental("list[0].x")))
