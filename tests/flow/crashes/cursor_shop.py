"""Whole runs of a shop that is read by cursors; as a program: `cursor_shop <lake> <folder> <seconds>`.

The program makes the second run and kills itself that many seconds after the run began.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.conftest import session_builder
from tests.flow.crashes.lakes import DELTA, LAKES, Lake
from tests.flow.crashes.shop import (
    DISPOSITIONS,
    NAME,
    Content,
    content,
    ledger_at,
    loads,
    pipeline_at,
    with_load_numbers,
)
from tests.flow.factories import QUICK_CONF, new_session

import penstock
from penstock.pipeline.state import decode_state
from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination

_BATCH: Final = 8
_PAUSE: Final = 0.04
"""Seconds for each row in the killed process: generators take a third of its time."""
_SINCE: Final = ("events", "orders", "customers")
"""Resources with a cursor; the others yield all their rows."""
_WAYS: Final[dict[str, dict[str, Any]]] = {**DISPOSITIONS, "stock": {"write_disposition": "replace"}}
ROOTS: Final = (*_SINCE, "prices", "stock")
_STABLE: Final = ("customers", "prices")
"""Resources whose row ids come from the rows alone."""


def rows(name: str, batch: int) -> list[dict[str, Any]]:
    """Return the new rows of a resource in a batch, or all its rows."""
    at = range(batch * _BATCH, (batch + 1) * _BATCH)
    if name == "events":
        return [{"moment": number, "kind": f"k{number % 3}"} for number in at]
    if name == "orders":
        return [{"id": n % 12, "moment": n, "lines": [{"sku": f"s{i}"} for i in range(n % 4)]} for n in at]
    if name == "customers":
        return [{"id": n % 10, "moment": n, "phones": [n, n + 1][: n % 3]} for n in at]
    if name == "prices":
        return [
            {"sku": f"s{n}", "price": n * (1 + batch * (n % 2)), "tiers": [n] * (n % 3)} for n in range(6)
        ]
    return [{"sku": f"s{n}", "left": n + batch, "places": [{"row": n}]} for n in range(5 + batch)]


def sources(batches: int, at_row: Callable[[str], None] = lambda _: None) -> list[Any]:
    """Return all resources after some batches; `at_row` is called before each row."""

    def since(name: str, cursor: Any) -> Iterator[dict[str, Any]]:
        for row in (row for batch in range(batches) for row in rows(name, batch)):
            if cursor.last_value is None or row["moment"] >= cursor.last_value:
                at_row(f"row {row['moment']} of {name}")
                yield row

    def all_rows(name: str) -> Iterator[dict[str, Any]]:
        for row in rows(name, batches - 1):
            at_row(f"row {row['sku']} of {name}")
            yield row

    def with_cursor(name: str) -> Any:
        def generate(cursor: Any = penstock.sources.incremental("moment")) -> Iterator[dict[str, Any]]:
            yield from since(name, cursor)

        return penstock.resource(generate, name=name, **_WAYS[name])()

    return [
        *(with_cursor(name) for name in _SINCE),
        *(
            penstock.resource(all_rows, name=name, **_WAYS[name])(name)
            for name in ROOTS
            if name not in _SINCE
        ),
    ]


def outcome(root: Path, spark: SparkSession, lake: Lake) -> dict[str, Any]:
    """Return documents, ids that come from rows, the load of each kept row, and the cursors, by name."""
    loaded = loads(root)
    tables: Content = with_load_numbers(content(root, spark, lake), loaded)
    chains = {item: {name: tables[name] for name in tables if name.startswith(item)} for item in ROOTS}
    result: dict[str, Any] = {f"rows of {item}": documents(chains[item], item) for item in ROOTS}
    for item in ROOTS:
        ids = {name: sorted(row["_dlt_id"] for row in chains[item][name]) for name in chains[item]}
        result[f"ids of {item}"] = ids if item in _STABLE else {name: len({*ids[name]}) for name in ids}
        if item != "stock":  # all of its rows are those of the last run, whichever that was
            result[f"loads of {item}"] = sorted(row["_dlt_load_id"] for row in chains[item][item])
    return result | {"cursors": cursors(root)}


def cursors(root: Path) -> dict[str, Any]:
    """Return the stored cursor of each resource."""
    stored = ledger_at(root).last_state(NAME)
    resources = decode_state(stored.state)["sources"][NAME]["resources"] if stored else {}
    return {name: resources.get(name, {}).get("incremental") for name in _SINCE}


def run(
    root: Path,
    spark: SparkSession | None,
    batches: int,
    *,
    destination: Destination | Lake = DELTA,
    disk: str = "disk",
    at_row: Callable[[str], None] = lambda _: None,
) -> None:
    """Run once, on the disk of this machine or of another one."""
    pipeline = pipeline_at(root, spark, destination=destination, disk=disk)
    pipeline.run(sources(batches, at_row))


def main(lake: str, folder: str, seconds: str) -> None:
    """Make the second run in a process that kills itself; with 0 seconds print how long the run takes."""
    spark = new_session(session_builder("delta", "iceberg").getOrCreate(), QUICK_CONF)
    begun = time.monotonic()
    if float(seconds):
        threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()
    run(Path(folder), spark, 2, destination=LAKES[lake], at_row=lambda _: time.sleep(_PAUSE))
    print(time.monotonic() - begun, flush=True)  # noqa: T201 - the process that began this one reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
