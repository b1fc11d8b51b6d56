from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.cursor.pipeline_runs import Runs

import penstock
from penstock.errors import UnsupportedData
from penstock.extract.cursor.bounds import with_scheduler_interval
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.cursor.plan import classify_value
from penstock.interfaces.cursor_options import CursorOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])
VALUES = st.lists(st.integers(0, 6), min_size=1, max_size=25)
TERMS: list[dict[str, Any]] = [
    {},
    {"last_value_func": min},
    {"initial_value": 3},
    {"initial_value": 3, "range_start": "open"},
    {"initial_value": 2, "end_value": 5},
    {"initial_value": 2, "end_value": 5, "range_end": "closed"},
    {"initial_value": 5, "end_value": 2, "last_value_func": min},
    {"lag": 2},
    {"lag": 1, "last_value_func": min},
    {"primary_key": ()},
    {"primary_key": "id"},
    {"primary_key": ("id", "n")},
    {"on_cursor_value_missing": "include"},
    {"on_cursor_value_missing": "exclude"},
]


def rows_of(values: list[int]) -> list[dict[str, Any]]:
    return [{"id": number, "n": value} for number, value in enumerate(values)]


def split_into_pages(items: list[Any], sizes: list[int]) -> list[list[Any]]:
    """Split items into pages of these sizes, and the remainder."""
    pieces, at = [], 0
    for size in sizes:
        pieces.append(items[at : at + size])
        at += size
    return [*pieces, items[at:]]


def resource_of(items: list[Any], **terms: Any) -> Any:
    return penstock.resource(
        lambda: iter(items), name="r", incremental=penstock.sources.incremental("n", **terms)
    )


def with_holes(rows: list[dict[str, Any]], terms: dict[str, Any]) -> list[dict[str, Any]]:
    holes = "on_cursor_value_missing" in terms
    return [{**row, "n": None} if holes and row["id"] % 4 == 3 else row for row in rows]


def run_cursor(sources: dict[str, Any], items: list[Any], terms: dict[str, Any]) -> list[Any]:
    """Run a cursor over items; return the new rows, and store its state in `sources`."""
    cursors = Cursors({"sources": sources}, source="shop")
    tracker = cursors.track(penstock.sources.incremental("n", **terms), resource="r", stop=lambda: None)
    new_items = [tracker(item, None) for item in items]
    cursors.write_state()
    return [row for item in new_items if item is not None for row in _rows(item)]


def _rows(item: Any) -> list[Any]:
    if isinstance(item, pa.Table):
        rows: list[Any] = item.to_pylist()
        return rows
    return item if isinstance(item, list) else [item]


@pytest.mark.parametrize("terms", TERMS, ids=str)
@given(first=VALUES, second=VALUES, sizes=st.lists(st.integers(0, 5), max_size=6))
def test_pages_and_frames_have_the_same_result_as_single_rows(
    terms: dict[str, Any], first: list[int], second: list[int], sizes: list[int]
) -> None:
    single: dict[str, Any] = {}
    paged: dict[str, Any] = {}
    framed: dict[str, Any] = {}

    for values in (first, second, first + second):
        rows = with_holes(rows_of(values), terms)
        pages = [page for page in split_into_pages(rows, sizes) if page]
        frames = [pa.Table.from_pylist(page, SCHEMA) for page in pages]
        one_by_one = run_cursor(single, rows, terms)
        assert run_cursor(paged, pages, terms) == one_by_one
        assert run_cursor(framed, frames, terms) == one_by_one
        assert single == paged == framed


@given(values=VALUES, sizes=st.lists(st.integers(0, 6), max_size=6), data=st.data())
def test_runs_that_read_all_rows_again_load_each_row_once(
    values: list[int], sizes: list[int], data: st.DataObject
) -> None:
    """A source that grows in the order of its cursor is read completely in each run."""
    rows = rows_of(sorted(values))
    runs: dict[str, Any] = {}
    at_once: dict[str, Any] = {}
    loaded: list[Any] = []

    for piece in range(len(sizes) + 1):
        so_far = rows[: sum(sizes[:piece])] if piece < len(sizes) else rows
        page_sizes = data.draw(st.lists(st.integers(0, 4), max_size=4))
        pages = [page for page in split_into_pages(so_far, page_sizes) if page]
        loaded += run_cursor(runs, pages, {})
    loaded += run_cursor(runs, rows, {})

    assert loaded == run_cursor(at_once, rows, {})
    after, other = (state["shop"]["resources"]["r"]["incremental"]["n"] for state in (runs, at_once))
    assert {**after, "start_value": None} == {**other, "start_value": None}


@given(VALUES, st.sampled_from([max, min]))
def test_the_last_value_is_chosen_from_all_rows(values: list[int], pick: Any) -> None:
    terms, last = CursorOptions(last_value_func=pick), None

    for value in values:
        last = classify_value(value, start=None, last=last, end=None, options=terms).last_value

    assert last == pick(values)


def test_frames_refuse_a_custom_last_value_func(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedData, match="max or min"):
        Runs(tmp_path)(resource_of([pa.table({"n": [1]})], last_value_func=lambda values: max(values)))  # noqa: PLW0108 - not max itself


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_library(tmp_path: Path, library: str) -> None:
    module = pytest.importorskip(library)
    runs, kinds = Runs(tmp_path), set()

    def frames() -> Iterator[Any]:
        yield module.DataFrame({"n": [1, 3, 2], "text": ["a", "b", "c"]})
        yield module.DataFrame({"n": [3, 4], "text": ["d", "e"]})

    def seen(frame: Any) -> Any:
        kinds.add(type(frame))
        return frame

    def resource() -> Any:
        cursor = penstock.sources.incremental("n", initial_value=2)
        return penstock.resource(frames, name="r", incremental=cursor).add_step(seen, insert_at=2)

    assert [row["n"] for row in runs(resource())] == [3, 2, 3, 4]
    assert runs(resource()) == []
    assert kinds == {module.DataFrame}


class OtherDatetime(datetime):
    """A class like that of pendulum."""


@pytest.mark.parametrize(
    "cursor",
    [
        penstock.sources.incremental[OtherDatetime]("at"),
        penstock.sources.incremental("at", initial_value=OtherDatetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_last_value_has_the_declared_class_of_date_times_in_the_next_run(
    cursor: Any, tmp_path: Path
) -> None:
    seen = []

    def rows(at: Any = cursor) -> Iterator[dict[str, Any]]:
        seen.append(at.last_value)
        yield {"at": OtherDatetime(2024, 1, 2, tzinfo=UTC)}

    runs = Runs(tmp_path)
    for _ in range(2):
        runs(penstock.resource(rows, name="rows"))

    assert type(seen[1]) is OtherDatetime
    assert seen[1] == datetime(2024, 1, 2, tzinfo=UTC)


def test_the_interval_of_a_scheduler_has_the_declared_class_of_date_times() -> None:
    options = CursorOptions(cursor_path="at", value_type=OtherDatetime, allow_external_schedulers=True)
    interval = {"DLT_INTERVAL_START": "2024-01-01T00:00:00Z", "DLT_INTERVAL_END": "2024-01-02T00:00:00Z"}

    limited = with_scheduler_interval(options, resource="rows", environment=interval)

    assert type(limited.initial_value) is type(limited.end_value) is OtherDatetime
    assert limited.initial_value == datetime(2024, 1, 1, tzinfo=UTC)
