"""Rows that are read again: so many seconds, days, or numbers before the last value."""

from datetime import date, datetime, timezone

import dlt


def run(extract):
    def lagged(name, values, **terms):
        @dlt.resource(name=name)
        def inner(at=dlt.sources.incremental("at", **terms)):
            yield [{"at": value, "last": at.last_value} for value in values]

        extract(inner)

    for values in ([10, 15], [9, 12, 13, 14, 15], [11], [12, 16]):
        lagged("numbers", values, lag=2)
    for values in ([10.5, 15.5], [13.4, 13.5, 15.5]):
        lagged("floats", values, lag=2)
    for values in ([3, 4], [1, 2], [1, 3, 4, 5]):
        lagged("least", values, lag=2, last_value_func=min)
    for values in ([3, 9], [3, 4, 9]):
        lagged("not_before", values, lag=8, initial_value=4)
    first, last = datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 1, 1, 1, tzinfo=timezone.utc)
    for values in ([first, last], [first, datetime(2024, 1, 1, 0, 59, tzinfo=timezone.utc), last]):
        lagged("moments", values, lag=90)
    for values in ([date(2024, 3, 1)], [date(2024, 2, 27), date(2024, 2, 28), date(2024, 2, 29)]):
        lagged("days", values, lag=2)
    for values in (["2024-03-01"], ["2024-02-27", "2024-02-28", "2024-03-01"]):
        lagged("day_texts", values, lag=2)
    for values in (
        ["2024-03-01T00:01:00Z"],
        ["2024-02-29T23:59:00Z", "2024-02-29T23:59:30Z", "2024-03-01T00:01:00Z"],
    ):
        lagged("moment_texts", values, lag=90)
    for values in (
        ["2024-03-01T00:01:00.250+02:00"],
        ["2024-02-29T23:59:30.100000+02:00", "2024-02-29T23:59:30.250000+02:00"],
    ):
        lagged("zoned_texts", values, lag=90)
    for values in ([1, 2], [1, 2, 3]):
        lagged("own", values, lag=1, last_value_func=lambda values: max(values))
    for values in (["a"], ["b"]):
        lagged("letters", values, lag=1)
