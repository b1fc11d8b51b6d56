"""What tells rows at the boundary apart: the cursor's key, the resource's, the row, or nothing."""

import dlt

FIRST = [{"a": 1, "b": 1, "n": 5, "x": 1}, {"a": 2, "b": 1, "n": 5, "x": 1}]
SECOND = [
    {"a": 1, "b": 1, "n": 5, "x": 2},
    {"a": 2, "b": 1, "n": 5, "x": 1},
    {"a": 1, "b": 2, "n": 5, "x": 1},
]


def run(extract):
    keys = {
        "none": {},
        "resource": {"primary_key": "a"},
        "both": {"primary_key": ["a", "b"]},
    }
    for name, hints in keys.items():
        for own in (None, "b", ("a", "b"), ()):
            for rows in (FIRST, SECOND, SECOND):
                terms = dlt.sources.incremental("n", primary_key=own)
                extract(dlt.resource([rows], name=f"{name}_{own}".strip("_()"), incremental=terms, **hints))
    extract(dlt.resource([FIRST], name="lost", primary_key="zzz", incremental=dlt.sources.incremental("n")))
    step = dlt.sources.incremental("n")
    extract(dlt.resource([FIRST], name="step", primary_key="a").add_step(step))
