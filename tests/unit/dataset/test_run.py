"""Conversion of Spark rows to plain values."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.dataset.run import row_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER = StructType().add("n", IntegerType())
SCHEMA = (
    StructType()
    .add("id", LongType())
    .add("at", TimestampType())
    .add("wall", TimestampNTZType())
    .add("inside", StructType().add("at", TimestampType()).add("n", IntegerType()))
    .add("many", ArrayType(TimestampType()))
    .add("by", MapType(StringType(), NUMBER))
)


def a_row(*values: Any) -> Row:
    return Row(*(f"c{place}" for place in range(len(values))))(*values)


@pytest.fixture(params=["UTC", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("seconds", [0, 1_762_057_800, 1_762_061_400, 1_794_709_965])
def test_timestamps_are_in_utc_in_any_time_zone_of_the_machine(seconds: int) -> None:
    moment, wall = datetime.fromtimestamp(seconds, UTC), datetime(2026, 1, 1)
    here = datetime.fromtimestamp(seconds)  # as Spark gives it
    row = a_row(1, here, wall, a_row(here, 2), [here, None], {"a": a_row(3)})

    assert row_reader(SCHEMA)(row) == (
        1,
        moment,
        wall,
        {"at": moment, "n": 2},
        [moment, None],
        {"a": {"n": 3}},
    )


def test_nulls_stay_null() -> None:
    assert row_reader(SCHEMA)(a_row(*[None] * 6)) == (None,) * 6


def test_a_row_without_timestamps_is_its_tuple() -> None:
    assert row_reader(NUMBER)(a_row(1)) == (1,)
