"""Cursors with limits: backfills in several runs, and generators that are closed early."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.cursor.pipeline_runs import Runs

import penstock
from penstock.extract.nodes import LimitCounter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

ROWS = [{"id": number, "n": number // 3} for number in range(20)]
"""Return rows in the order of their cursor, three for each value."""


def until_all_is_there(runs: Runs, limited: Callable[[], Any]) -> list[Any]:
    loaded: list[Any] = []
    for _ in range(60):
        loaded += runs(limited())
        if len(loaded) >= len(ROWS):
            break
    return loaded + runs(limited())


@given(size=st.integers(1, 5), most=st.integers(1, 4), count_rows=st.booleans())
def test_runs_with_a_limit_lose_no_rows(
    tmp_path_factory: pytest.TempPathFactory, size: int, most: int, count_rows: bool
) -> None:
    @penstock.resource
    def ordered(n: Any = penstock.sources.incremental("n", row_order="asc")) -> Iterator[Any]:
        for at in range(0, len(ROWS), size):
            yield ROWS[at : at + size]

    runs = Runs(tmp_path_factory.mktemp("runs"))

    assert until_all_is_there(runs, lambda: ordered().add_limit(most, count_rows=count_rows)) == ROWS


@pytest.mark.parametrize("is_late", ["while it is drawn", "on its way"])
def test_runs_with_a_time_limit_lose_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_late: str
) -> None:
    now = [0.0]
    monkeypatch.setattr("penstock.extract.nodes.LimitCounter", partial(LimitCounter, clock=lambda: now[0]))

    def slow(row: Any) -> Any:
        now[0] += 0.01
        return row

    @penstock.resource
    def ordered(n: Any = penstock.sources.incremental("n", row_order="asc")) -> Iterator[Any]:
        for row in ROWS:
            if row["n"] >= (n.start_value or 0):
                yield slow(row) if is_late == "while it is drawn" else row

    def limited() -> Any:
        resource = ordered()
        if is_late == "on its way":
            resource.add_map(slow, insert_at=2)  # after the cursor
        return resource.add_limit(max_time=0.08)

    assert len(Runs(tmp_path / "cut")(limited())) < len(ROWS)
    assert until_all_is_there(Runs(tmp_path / "all"), limited) == ROWS


def test_all_rows_that_a_step_returns_for_a_counted_page_are_kept(tmp_path: Path) -> None:
    """The cursor has counted the page when the limit closes the resource within it."""

    @penstock.resource
    def ordered(n: Any = penstock.sources.incremental("n", row_order="asc")) -> Iterator[Any]:
        for at in range(0, len(ROWS), 6):
            yield ROWS[at : at + 6]

    def limited() -> Any:
        return ordered().add_yield_map(lambda row: iter([row]), insert_at=2).add_limit(2)

    assert until_all_is_there(Runs(tmp_path), limited) == ROWS


def test_without_row_order_a_limit_skips_rows_behind_the_cursor(tmp_path: Path) -> None:
    """The same as dlt, and documented."""
    cursor = penstock.sources.incremental("n")
    runs = Runs(tmp_path)

    def mixed() -> Any:
        rows = [{"n": number} for number in (3, 1, 2, 5, 4)]
        return penstock.resource(rows, name="mixed", incremental=cursor).add_limit(1)

    assert [runs(mixed()), runs(mixed())] == [[{"n": 3}], [{"n": 5}]]


def test_pages_in_progress_are_kept_when_row_order_ends_the_reading(tmp_path: Path) -> None:
    """The third page is read first and is past the end; the second page is in the range and is kept."""
    third_is_there = threading.Event()

    def page(number: int) -> list[Any]:
        if number == 2:
            third_is_there.set()
        else:
            assert third_is_there.wait(timeout=120)
        return [{"id": number * 10 + number_in_page, "n": number} for number_in_page in range(3)]

    @penstock.resource
    def paged(
        n: Any = penstock.sources.incremental("n", initial_value=0, end_value=2, row_order="asc"),
    ) -> Iterator[Any]:
        later = penstock.defer(page)
        for number in range(3):
            yield later(number)

    rows = Runs(tmp_path)(paged())

    assert sorted(row["id"] for row in rows) == [0, 1, 2, 10, 11, 12]


@pytest.mark.parametrize("kind", ["plain", "parallel", "async"])
def test_a_generator_is_closed_when_no_row_of_the_range_can_follow(tmp_path: Path, kind: str) -> None:
    drawn: list[int] = []
    closed: list[bool] = []

    def falling() -> Iterator[Any]:
        try:
            for number in range(100, 0, -1):
                drawn.append(number)
                yield {"n": number}
        finally:
            closed.append(True)

    async def falling_later() -> AsyncIterator[Any]:
        try:
            for number in range(100, 0, -1):
                await asyncio.sleep(0)
                drawn.append(number)
                yield {"n": number}
        finally:
            closed.append(True)

    cursor = penstock.sources.incremental("n", initial_value=97, row_order="desc")
    data = falling_later if kind == "async" else falling
    resource = penstock.resource(data, name="falling", incremental=cursor, parallelized=kind == "parallel")

    assert Runs(tmp_path)(resource) == [{"n": 100}, {"n": 99}, {"n": 98}, {"n": 97}]
    assert (min(drawn), closed) == (96, [True])


def test_a_transformer_in_threads_has_one_cursor_for_all_items(tmp_path: Path) -> None:
    """dlt restarts the cursor for each item, and loses rows."""

    @penstock.transformer(parallelized=True)
    def fed(row: Any, n: Any = penstock.sources.incremental("n", initial_value=5)) -> Iterator[Any]:
        yield {"n": 9 - row["n"], "start": n.start_value}
        yield {"n": 10 - row["n"], "start": n.start_value}

    runs = Runs(tmp_path)

    def fed_by_rows() -> Any:
        return penstock.resource([{"n": number} for number in range(8)], name="rows") | fed

    rows = runs(fed_by_rows())
    assert sorted(row["n"] for row in rows) == [5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    assert {row["start"] for row in rows} == {5}
    assert runs.entry("fed", "n")["last_value"] == 10
    assert [row["start"] for row in runs(fed_by_rows())] == [10]
