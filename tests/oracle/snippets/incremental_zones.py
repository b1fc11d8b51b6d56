"""Moments with and without time zone, and types that do not fit."""

from datetime import date, datetime, timedelta, timezone

import dlt

UTC = timezone.utc
EAST = timezone(timedelta(hours=3))


def run(extract):
    def of(name, values, **terms):
        rows = [{"at": value} for value in values]
        extract(dlt.resource([rows], name=name, incremental=dlt.sources.incremental("at", **terms)))

    of("aware", [datetime(2024, 1, 2, tzinfo=UTC)], initial_value=datetime(2024, 1, 1))
    of("aware", [datetime(2024, 1, 2), datetime(2024, 1, 3)])
    of("aware", [datetime(2024, 1, 3, 3, tzinfo=EAST), datetime(2024, 1, 3, 4, tzinfo=EAST)])
    of("naive", [datetime(2024, 1, 2)], initial_value=datetime(2024, 1, 1, tzinfo=EAST))
    of("naive", [datetime(2024, 1, 2), datetime(2024, 1, 2, 1)])
    of(
        "ranged",
        [datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 3)],
        initial_value=datetime(2024, 1, 1, tzinfo=UTC),
        end_value=datetime(2024, 1, 2, tzinfo=UTC),
    )
    of("texts", ["2024-01-02"], initial_value=datetime(2024, 1, 1))
    of("moments", [datetime(2024, 1, 2)], initial_value="2024-01-01")
    of("days", [date(2024, 1, 2)], initial_value=datetime(2024, 1, 1))
    of("numbers", [1, "2"])
    of("ends", ["b"], initial_value=1, end_value=2)
