"""A backfill in windows that its test kills: `python backfill_program.py FOLDER limit|range`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOWS, SIZE = 12, 40
ROWS = [{"id": number, "n": number // 2} for number in range(WINDOWS * SIZE)]
"""Rows in cursor order, two for each value: windows end between two rows of one value."""


def slow(rows: list[Any]) -> Iterator[Any]:
    """Yield small pages slowly, so that the test can kill the process between two of them."""
    for at in range(0, len(rows), 10):
        time.sleep(0.003)
        yield rows[at : at + 10]


@penstock.resource
def limited(n: Any = penstock.sources.incremental("n", row_order="asc")) -> Iterator[Any]:
    since = n.last_value or 0
    yield from slow([row for row in ROWS if row["n"] >= since])


@penstock.resource
def ranged(n: Any = penstock.sources.incremental("n", initial_value=0, end_value=1)) -> Iterator[Any]:
    done = penstock.current.resource_state().setdefault("windows", [])
    if n.initial_value not in done:
        yield from slow(ROWS)
        done.append(n.initial_value)


def main(folder: str, how: str) -> None:
    """Extract each window separately."""
    pipeline = penstock.pipeline("windows", pipelines_dir=folder)
    step = SIZE // 2
    for window in range(WINDOWS + 2):  # a page at a boundary repeats a row that was read before
        bounds = penstock.sources.incremental(initial_value=window * step, end_value=(window + 1) * step)
        resource = limited().add_limit(SIZE // 10) if how == "limit" else ranged(bounds)
        pipeline.extract(resource)
        print(window, flush=True)  # noqa: T201 - the test waits for it
        sys.stdin.readline()  # the test continues it, so that it cannot end before it is killed


if __name__ == "__main__":
    main(*sys.argv[1:])
