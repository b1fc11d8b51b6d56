"""What a row at the boundary is known by, with values of all kinds in it."""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import dlt

EAST = timezone(timedelta(hours=3))
VALUES = {
    "nested": {"b": [1, {"y": None, "x": "é \u2028"}], "a": {}},
    "numbers": [1.0, 1.5e100, -0.0, 2**63, -(2**63), True],
    "moments": [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 7, EAST)],
    "days": [date(2024, 1, 1), time(1, 2, 3, 4)],
    "decimals": [Decimal("1.10"), Decimal("-0.001")],
    "ids": [UUID("12345678-1234-5678-1234-567812345678")],
    "bytes": [b"a", b"\x00\xff"],
    "tuples": [(1, (2, "3"))],
    "keys": [{2: "two", "10": "ten", 1: "one"}],
}


def run(extract):
    for name, value in VALUES.items():
        for _ in range(2):
            row = {"n": 1, "value": value, "z": name, "a": 1}
            extract(dlt.resource([row], name=name, incremental=dlt.sources.incremental("n")))
            keyed = dlt.sources.incremental("n", primary_key=("value", "n"))
            extract(dlt.resource([row], name=f"{name}_key", incremental=keyed))
