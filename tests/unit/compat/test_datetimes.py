"""Dates and times of pendulum from texts, numbers and objects, as dlt reads them."""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pendulum
import pytest

from penstock.common import pendulum as lazy_pendulum
from penstock.common.time import (
    ensure_pendulum_date,
    ensure_pendulum_datetime,
    ensure_pendulum_time,
    parse_iso_like_datetime,
)
from penstock.errors import MissingExtra

TWO_HOURS_EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-01-02", "2024-01-02T00:00:00+00:00"),
        ("20240102", "2024-01-02T00:00:00+00:00"),
        ("2024W05", "2024-01-29T00:00:00+00:00"),
        ("2024-01-02 03:04", "2024-01-02T03:04:00+00:00"),
        ("2024-01-02T03:04:05+02:00", "2024-01-02T01:04:05+00:00"),
        ("1704164645.5", "2024-01-02T03:04:05.500000+00:00"),
        (1704164645, "2024-01-02T03:04:05+00:00"),
        (date(2024, 1, 2), "2024-01-02T00:00:00+00:00"),
        (datetime(2024, 1, 2, 3), "2024-01-02T03:00:00+00:00"),
        (datetime(2024, 1, 2, 3, tzinfo=TWO_HOURS_EAST), "2024-01-02T01:00:00+00:00"),
        (pendulum.datetime(2024, 1, 2, tz="Europe/Berlin"), "2024-01-01T23:00:00+00:00"),
    ],
)
def test_every_form_of_a_moment_becomes_a_date_time_in_utc(value: Any, expected: str) -> None:
    moment = ensure_pendulum_datetime(value)

    assert isinstance(moment, pendulum.DateTime)
    assert moment.isoformat() == expected


@pytest.mark.parametrize("value", ["12:30", "P1D", "x"])
def test_a_text_without_a_date_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=value):
        ensure_pendulum_datetime(value)


def test_an_object_without_a_date_is_refused() -> None:
    with pytest.raises(TypeError, match="Decimal"):
        ensure_pendulum_datetime(Decimal(1))  # type: ignore[arg-type]


def test_a_time_zone_is_that_of_values_without_one_and_that_of_the_result() -> None:
    at_noon = ensure_pendulum_datetime(datetime(2024, 1, 2, 12), TWO_HOURS_EAST)

    assert at_noon.isoformat() == "2024-01-02T12:00:00+02:00"
    assert ensure_pendulum_datetime("2024-01-02T12:00:00Z", TWO_HOURS_EAST).hour == 14


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-01-02T03:04:05", "DateTime(2024, 1, 2, 3, 4, 5)"),
        ("2024-01-02", "Date(2024, 1, 2)"),
        ("12:30", "Time(12, 30, 0)"),
    ],
)
def test_a_text_is_parsed_to_what_it_is_without_a_time_zone_that_it_lacks(value: str, expected: str) -> None:
    assert repr(parse_iso_like_datetime(value)) == expected


def test_dates_and_times_of_day_are_those_of_pendulum() -> None:
    assert repr(ensure_pendulum_date("1704164645")) == "Date(2024, 1, 2)"
    assert repr(ensure_pendulum_date(datetime(2024, 1, 2, tzinfo=TWO_HOURS_EAST))) == "Date(2024, 1, 2)"
    assert repr(ensure_pendulum_time("12:30")) == "Time(12, 30, 0)"
    assert repr(ensure_pendulum_time(timedelta(hours=1))) == "Time(1, 0, 0)"
    with pytest.raises(ValueError, match="2024-01-02"):
        ensure_pendulum_time("2024-01-02")


def test_names_of_pendulum_are_those_of_the_library() -> None:
    assert lazy_pendulum.DateTime is pendulum.DateTime


def test_pendulum_that_is_not_installed_is_an_error_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pendulum", None)

    with pytest.raises(MissingExtra, match=r"penstock\[pendulum\]"):
        _ = lazy_pendulum.DateTime
