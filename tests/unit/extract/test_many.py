"""A source with ten thousand resources."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.extract.reading import extracted

import penstock
from penstock.extract.engine import Engine
from penstock.extract.plan import Workload
from penstock.package import Packages
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 10_000


def rows(table: int) -> Iterator[dict[str, int]]:
    for number in range(3):
        yield {"table": table, "number": number}


@penstock.source
def catalogue(count: int = MANY) -> Iterator[Any]:
    declared = penstock.resource(rows, primary_key="number")
    for table in range(count):
        yield declared.with_name(f"table_{table}")(table)


def test_ten_thousand_resources_are_declared_selected_and_read_in_seconds() -> None:
    started = time.process_time()
    tracemalloc.start()

    source = catalogue()
    half = source.with_resources(*list(source.resources)[: MANY // 2])
    (flow,) = flows_of(half)
    count = sum(1 for _ in Engine(flow, Workload()).arrivals())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 3 * MANY // 2
    assert most < 150 * 2**20
    assert time.process_time() - started < 60


@pytest.mark.parametrize("count", [1_000])
def test_a_thousand_tables_are_written_side_by_side(tmp_path: Path, count: int) -> None:
    package = Packages.at(str(tmp_path)).package("17.5")

    done = extracted(catalogue(count), package)

    assert done.info.rows == 3 * count
    assert len(done.extracted.tables) == len(done.extracted.declared) == count
    assert {table.files for table in done.extracted.tables} == {1}
