"""What the function sees of its cursor."""

import dlt


@dlt.resource
def watched(n=dlt.sources.incremental("n", initial_value=2), numbers=()):
    for number in numbers:
        before = {"last": n.last_value, "start": n.start_value, "initial": n.initial_value}
        yield {"n": number, **before, "out": [n.start_out_of_range, n.end_out_of_range]}


@dlt.resource
def ranged(n=dlt.sources.incremental("n", initial_value=2, end_value=5), numbers=()):
    for number in numbers:
        out = [n.start_out_of_range, n.end_out_of_range]
        yield {"n": number, "last": n.last_value, "end": n.end_value, "out": out, "resource": n.resource_name}


@dlt.resource
def facts():
    one = dlt.sources.incremental("a.b", initial_value=3)
    other = dlt.sources.incremental[int]("'c d'", last_value_func=min, lag=4)
    merged = one.merge(dlt.sources.incremental(initial_value=5, end_value=7))
    copied = other.copy()
    one.parse_native_representation(9)
    yield {
        "columns": [one.get_cursor_column_name(), other.get_cursor_column_name()],
        "merged": [merged.cursor_path, merged.initial_value, merged.end_value],
        "copied": [copied.cursor_path, copied.lag, copied.last_value_func is min],
        "native": [one.cursor_path, one.initial_value],
        "plain": [one.row_order, one.on_cursor_value_missing, one.range_start, one.range_end],
    }


def run(extract):
    extract(watched(numbers=(3, 1, 4, 2, 5)))
    extract(watched(numbers=(5, 5, 4, 6)))
    extract(ranged(numbers=(1, 4, 6, 2, 7)))
    extract(facts)
