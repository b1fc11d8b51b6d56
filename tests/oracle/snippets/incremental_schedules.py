"""Ranges that a scheduler gives."""

import os
from datetime import date, datetime, timedelta, timezone

import dlt

UTC = timezone.utc
START = datetime(2024, 1, 1, tzinfo=UTC)
LATER = START + timedelta(hours=30)


@dlt.resource
def moments(at=dlt.sources.incremental[datetime]("at", allow_external_schedulers=True)):
    for day in range(-1, 4):
        yield {"at": START + timedelta(days=day), "initial": at.initial_value, "end": at.end_value}


@dlt.resource
def clipped(at=dlt.sources.incremental("at", initial_value=LATER, allow_external_schedulers=True)):
    for day in range(-1, 4):
        yield {"at": START + timedelta(days=day, hours=8)}


@dlt.resource
def days(at=dlt.sources.incremental[date]("at", allow_external_schedulers=True)):
    for day in range(-1, 4):
        yield {"at": date(2024, 1, 2) + timedelta(days=day)}


@dlt.resource
def seconds(at=dlt.sources.incremental("at", initial_value=0, allow_external_schedulers=True)):
    for day in range(-1, 4):
        yield {"at": int(START.timestamp()) + day * 86400}


@dlt.resource
def texts(at=dlt.sources.incremental("at", initial_value="2024", allow_external_schedulers=True)):
    yield {"at": "2024-01-01"}


@dlt.resource
def unknown(at=dlt.sources.incremental("at", allow_external_schedulers=True)):
    yield {"at": 1}


@dlt.resource
def inattentive(at=dlt.sources.incremental[datetime]("at")):
    for day in range(-1, 4):
        yield {"at": START + timedelta(days=day)}


def run(extract):
    extract(moments)
    os.environ["DLT_INTERVAL_START"] = "2024-01-01T00:00:00Z"
    os.environ["DLT_INTERVAL_END"] = "2024-01-03T00:00:00Z"
    for resource in (moments, clipped, days, seconds, texts, unknown, inattentive):
        extract(resource)
