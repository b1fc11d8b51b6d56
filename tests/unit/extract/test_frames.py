from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from tests.unit.extract.reading import extracted, rows_of

import penstock
from penstock.extract.frames import pages_of
from penstock.package import Package, Packages
from penstock.package.tags import DATE, DATETIME, DECIMAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE = pa.table(
    {
        "id": [1, 2],
        "on": [date(2024, 1, 2), None],
        "at": pa.array([datetime(2024, 1, 2, 3, tzinfo=UTC)] * 2, pa.timestamp("ns", "UTC")),
        "price": [Decimal("1.50"), Decimal("2.00")],
        "tags": [["a"], []],
    }
)
ROWS = [
    {
        "id": 1,
        "on": DATE + "2024-01-02",
        "at": DATETIME + "2024-01-02T03:00:00+00:00",
        "price": DECIMAL + "1.50",
        "tags": ["a"],
    },
    {
        "id": 2,
        "on": None,
        "at": DATETIME + "2024-01-02T03:00:00+00:00",
        "price": DECIMAL + "2.00",
        "tags": [],
    },
]


class Polars:
    """What a frame of polars offers to others."""

    __module__ = "polars.dataframe.frame"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


class LazyFrame:
    """What a lazy frame of polars offers to others."""

    __module__ = "polars.lazyframe.frame"

    def collect(self) -> Polars:
        return Polars()


Polars.__name__ = "DataFrame"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


@pytest.mark.parametrize(
    "frame",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        pd.DataFrame(TABLE.to_pydict()),
        Polars(),
        LazyFrame(),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy"],
)
def test_a_frame_is_loaded_as_the_rows_it_holds(package: Package, frame: Any) -> None:
    done = extracted(frame, package, table_name="t")

    assert rows_of(package, done) == {"t": ROWS}


def test_frames_can_be_yielded_beside_rows_and_pass_steps_as_one_item(package: Package) -> None:
    def frames() -> Iterator[Any]:
        yield TABLE.select(["id"])
        yield {"id": 3}
        yield pd.DataFrame({"id": [4]})

    seen: list[str] = []

    def look(item: Any) -> Any:
        seen.append(type(item).__name__)
        return item

    resource = penstock.resource(frames).add_step(look)

    done = extracted(resource, package)

    assert [row["id"] for row in rows_of(package, done)["frames"]] == [1, 2, 3, 4]
    assert seen == ["Table", "dict", "DataFrame"]


def test_a_limit_counts_a_frame_as_one_item_or_its_rows(package: Package) -> None:
    def frames() -> Iterator[Any]:
        while True:
            yield TABLE.select(["id"])

    by_items = extracted(penstock.resource(frames).add_limit(2), package)
    by_rows = extracted(penstock.resource(frames).add_limit(3, count_rows=True), package)

    assert (by_items.info.rows, by_rows.info.rows) == (4, 4)


def test_a_large_frame_is_taken_in_pages() -> None:
    pages = pages_of(pa.table({"n": range(25_000)}))

    assert pages is not None
    assert [len(page) for page in pages] == [10_000, 10_000, 5_000]


def test_a_missing_number_of_pandas_is_null(package: Package) -> None:
    done = extracted(pd.DataFrame({"n": [1.5, float("nan")]}), package, table_name="t")

    assert rows_of(package, done) == {"t": [{"n": 1.5}, {"n": None}]}


def test_what_is_no_frame_has_no_pages() -> None:
    assert pages_of({"a": 1}) is None
