"""Cursor values of all kinds, and how the state keeps them."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import dlt

UTC = timezone.utc
EAST = timezone(timedelta(hours=3))


def run(extract):
    values = {
        "texts": ["a", "b"],
        "floats": [0.5, 1.5],
        "days": [date(2024, 1, 1), date(2024, 1, 2)],
        "moments": [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC)],
        "naive": [datetime(2024, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 678)],
        "east": [datetime(2024, 1, 1, tzinfo=EAST), datetime(2024, 1, 2, tzinfo=EAST)],
        "decimals": [Decimal("1.10"), Decimal("1.20")],
        "bytes": [b"a", b"b"],
        "truths": [False, True],
        "lists": [[1, 2], [1, 3]],
    }
    for name, (low, high) in values.items():
        for page in ([low, high, high], [low, high]):
            rows = [{"at": value, "n": number} for number, value in enumerate(page)]
            extract(dlt.resource([rows], name=name, incremental=dlt.sources.incremental("at")))
