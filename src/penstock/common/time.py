"""Dates and times, by dlt's import path."""

from datetime import timedelta

from penstock.compat.datetimes import (
    ensure_pendulum_date,
    ensure_pendulum_datetime,
    ensure_pendulum_datetime_utc,
    ensure_pendulum_time,
    parse_iso_like_datetime,
    timestamp_within,
)

__all__ = [
    "ensure_pendulum_date",
    "ensure_pendulum_datetime",
    "ensure_pendulum_datetime_utc",
    "ensure_pendulum_time",
    "parse_iso_like_datetime",
    "timedelta",
    "timestamp_within",
]
