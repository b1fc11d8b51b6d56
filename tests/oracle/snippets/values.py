"""Values of many types, and rows that are no dicts."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID

import dlt


class Colour(Enum):
    RED = "red"
    BLUE = 4


def things():
    yield {"at": datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC), "on": date(2024, 5, 6)}
    yield {"at": datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2))), "by": time(7, 8, 9)}
    yield {"price": Decimal("10.50"), "big": 2**63, "raw": b"\x00\xff", "who": UUID(int=7)}
    yield {"colour": Colour.RED, "other": Colour.BLUE, "pair": (1, 2), 7: "seven"}


def run(extract):
    extract(dlt.resource(things))
    extract([1, "two", 3.5, True], table_name="plain")
