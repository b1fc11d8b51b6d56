"""Seconds for decisions about large schemas: `uv run python -m benchmarks.schema`.

The sizes that one schema must support: 2,000 tables of 50 columns that did not change, decided in a second
of processor time at most, and one table of 10,000 columns, new and again.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING, Final

from penstock.schema import Column, Evidence, Schema, Table, decide

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.schema import DataType, StoredSchema

TABLES, COLUMNS, WIDE = 2_000, 50, 10_000
ROUNDS = 5
KINDS: Final[tuple[DataType, ...]] = ("text", "bigint", "double", "timestamp", "bool")


def evidence(table: int, columns: int, key: str = "field_{}_{}") -> tuple[Evidence, ...]:
    """Return evidence for the rows and for each column, each key with a different name."""
    return (
        Evidence(path=(), type="object", count=1000, first=(0, 0)),
        *(
            Evidence(
                path=(key.format(table, number),), type=KINDS[number % 5], count=1000, first=(0, number + 1)
            )
            for number in range(columns)
        ),
    )


def schema_of_many(batches: list[tuple[Evidence, ...]]) -> StoredSchema:
    """Return 2,000 root tables of 50 columns, besides system columns."""
    schema = Schema("big")
    tables = []
    for table, batch in enumerate(batches):
        decision = decide(Schema("one").stored, f"table_{table}", batch)
        tables.append(decision.schema.tables[f"table_{table}"])
    schema.update(schema.stored.with_tables(tables))
    return schema.stored


def unchanged(stored: StoredSchema, batches: list[tuple[Evidence, ...]]) -> None:
    """Decide every table; each decision returns an unchanged schema."""
    for number, batch in enumerate(batches):
        decision = decide(stored, f"table_{number}", batch)
        assert decision.schema is stored


def seconds(what: str, run: Callable[[], object]) -> None:
    """Print the median of some rounds, by the clock and by the processor."""
    clock, processor = [], []
    for _ in range(ROUNDS):
        began, worked = time.perf_counter(), time.process_time()
        run()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    medians = (
        f"{statistics.median(clock):7.3f} s by the clock {statistics.median(processor):7.3f} s of processor"
    )
    print(f"{what:<60} {medians}")


def main() -> None:
    """Measure and print."""
    print(f"Python {sys.version.split()[0]}, {ROUNDS} rounds")
    batches = [evidence(table, COLUMNS) for table in range(TABLES)]
    stored = schema_of_many(batches)
    seconds(f"{TABLES:,} tables x {COLUMNS} columns, unchanged: decide", lambda: unchanged(stored, batches))
    camel = [evidence(table, COLUMNS, key="field{}Number{}") for table in range(TABLES)]
    other = schema_of_many(camel)
    seconds("the same, keys in camel case that must be renamed", lambda: unchanged(other, camel))
    again = Schema.from_stored(stored)
    seconds("the same: version hash of the whole schema", lambda: Schema.from_stored(stored).version_hash)
    text = again.to_pretty_yaml()
    seconds(f"the same: write YAML ({len(text) / 1e6:.1f} MB)", again.to_pretty_yaml)
    seconds("the same: read YAML", lambda: Schema.from_text(text))

    wide = evidence(0, WIDE)
    empty = Schema("wide").stored
    after = decide(empty, "wide", wide).schema
    seconds(f"one table of {WIDE:,} columns, new: decide", lambda: decide(empty, "wide", wide))
    seconds(f"one table of {WIDE:,} columns, unchanged: decide", lambda: decide(after, "wide", wide))
    one_more = (*wide, Evidence(path=("surprise",), type="text", count=1, first=(9, 1)))
    seconds(f"one table of {WIDE:,} columns, one more: decide", lambda: decide(after, "wide", one_more))
    column = Table(name="wide", columns={"more": Column(name="more", data_type="text")})
    seconds(
        f"one table of {WIDE:,} columns: merge a column by hand", lambda: after.tables["wide"].merged(column)
    )


if __name__ == "__main__":
    main()
