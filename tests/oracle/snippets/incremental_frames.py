"""Arrow tables and batches."""

from datetime import datetime, timezone

import dlt
import pyarrow as pa

UTC = timezone.utc


def table(*values, **columns):
    return pa.table({"n": list(values), "id": list(range(len(values))), **columns})


def run(extract):
    def of(name, *frames, hints=(), **terms):
        cursor = dlt.sources.incremental("n", **terms)
        extract(dlt.resource(list(frames), name=name, incremental=cursor, **dict(hints)))

    key = {"primary_key": "id"}
    of("plain", table(1, 3, 2, 3))
    of("plain", table(3, 3, 2, 3, 4))
    of("plain", table(1, 2))
    of("keyed", table(1, 3), table(3, 3, 3), hints=key)
    of("keyed", table(3, 3, 3, 3), hints=key)
    of("least", table(3, 2), table(2, 1), last_value_func=min)
    of("least", table(3, 1, 0), last_value_func=min)
    of("ranged", table(1, 2, 3, 4), initial_value=2, end_value=4)
    of("ranged", table(1, 2, 3, 4), initial_value=2, end_value=4, range_start="open", range_end="closed")
    of("lagged", table(1, 5), lag=2)
    of("lagged", table(2, 3, 4), lag=2)
    of("batches", table(1, 2).to_batches()[0], initial_value=2)
    of("moments", table(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)))
    of("moments", table(datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)))
    of("excluded", table(1, None, 2), on_cursor_value_missing="exclude")
    of("included", table(1, None, 2, None), on_cursor_value_missing="include")
    of("included", table(2, None), on_cursor_value_missing="include")
    of("raised", table(1, None))
    of("wrong", table(1), initial_value="a")
    of("keyless", table(1), hints={"primary_key": "zzz"})
    extract(dlt.resource([table(1)], name="lost", incremental=dlt.sources.incremental("zzz")))
