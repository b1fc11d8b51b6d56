"""Columns with digits and zones."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import dlt


@dlt.resource(
    columns={
        "seconds": {"data_type": "timestamp", "precision": 0, "timezone": False},
        "naive": {"data_type": "timestamp", "timezone": False},
        "price": {"data_type": "decimal", "precision": 10, "scale": 3},
        "small": {"data_type": "bigint", "precision": 16},
        "code": {"data_type": "text", "precision": 8},
    }
)
def measures():
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=2)))
    yield {
        "seconds": moment,
        "naive": moment,
        "aware": moment,
        "price": Decimal("1.234"),
        "amount": Decimal("12345678901234567890.123456789"),
        "small": 7,
        "code": "abc",
    }


dlt.pipeline("precision", destination="duckdb", dataset_name="lab").run(measures())
