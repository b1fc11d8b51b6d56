"""Values of all kinds."""

from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID

import dlt


class Color(Enum):
    RED = "red"


rows = [
    {
        "text": "ä\u4e2d",
        "number": 2**40,
        "fraction": 0.1,
        "flag": True,
        "nothing": None,
        "moment": datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        "naive": datetime(2024, 1, 2, 3, 4, 5),
        "day": date(2024, 1, 2),
        "clock": time(3, 4, 5),
        "money": Decimal("10.50"),
        "blob": b"\x00\x01",
        "id": UUID(int=5),
        "color": Color.RED,
        "iso": "2024-01-02T03:04:05+02:00",
        "Camel Case!": 1,
    }
]
dlt.pipeline("values_of_python", destination="duckdb", dataset_name="kinds").run(rows, table_name="values")
