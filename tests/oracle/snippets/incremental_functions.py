"""A last value of the user's own making."""

import dlt


def longest(values):
    return max(values, key=len)


def by_kind(values):
    """The last number of each kind: the cursor value is the whole row."""
    last = {}
    for value in values:
        kinds = {value["kind"]: value["number"]} if "kind" in value else value
        for kind, number in kinds.items():
            last[kind] = max(number, last.get(kind, 0))
    return last


def run(extract):
    for words in (["a", "bbb", "cc", "ddd"], ["ddd", "eee", "ffff", "bbb"]):
        terms = dlt.sources.incremental("word", last_value_func=longest)
        extract(dlt.resource([{"word": word} for word in words], name="words", incremental=terms))
    for numbers in ([("a", 1), ("b", 1), ("a", 2)], [("a", 2), ("b", 2), ("a", 1)]):
        rows = [{"kind": kind, "number": number} for kind, number in numbers]
        terms = dlt.sources.incremental("$", last_value_func=by_kind)
        extract(dlt.resource(rows, name="kinds", incremental=terms))
    for values in ([5, 3, 4], [4, 3, 2], [3]):
        terms = dlt.sources.incremental("n", last_value_func=min)
        extract(dlt.resource([{"n": value} for value in values], name="least", incremental=terms))
