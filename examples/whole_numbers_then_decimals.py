"""A column has integers at first, and decimals later.

    python examples/whole_numbers_then_decimals.py

Promise: no value is lost or rounded, and you control the type of the column. By default, as in dlt,
decimals go to a variant column. If Delta may widen types, the column becomes decimal, with its existing
rows. And a column with a declared type holds both from the first row on.
"""

import sys
import tempfile
from typing import Any

import penstock

FIRST = [{"id": 1, "price": 3}, {"id": 2, "price": 4}]
LATER = [{"id": 3, "price": 3.5}, {"id": 4, "price": 5}]
PRICES = [(1, 3), (2, 4), (3, 3.5), (4, 5)]


def main(folder: str) -> str | None:
    """Load the same rows in three ways; return the broken promise, if any."""
    widening = {"table_properties": {"delta.enableTypeWidening": True}}
    double_hint = {"columns": {"price": {"data_type": "double"}}}
    by_default = price_columns(folder, "by_default", {}, {})
    widened = price_columns(folder, "widened", widening, {})
    declared = price_columns(folder, "declared", {}, double_hint)
    if by_default != {"price": "bigint", "price__v_double": "double"}:
        return "decimals did not go to a variant column"
    if widened != {"price": "decimal(38,9)"}:
        return "the column was not widened"
    return None if declared == {"price": "double"} else "the column does not have the declared type"


def price_columns(folder: str, name: str, settings: dict[str, Any], hints: dict[str, Any]) -> dict[str, str]:
    """Load integers, then decimals; return the columns with prices and their types."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake", **settings)
    pipeline = penstock.pipeline(name, f"{folder}/pipelines", destination=lake, dataset_name=name)
    for rows in (FIRST, LATER):
        pipeline.run(rows, table_name="items", **hints)

    items = pipeline.dataset()["items"].spark()
    columns = {column: data_type for column, data_type in items.dtypes if column.startswith("price")}
    rows_with_price = items.selectExpr("id", f"coalesce({', '.join(columns)}) AS price").collect()
    prices = sorted((row["id"], row["price"]) for row in rows_with_price)
    print(f"{name}: columns {columns}, values {[(number, float(price)) for number, price in prices]}")
    if prices != PRICES:
        sys.exit("values are lost or rounded")
    return columns


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
