"""A column begins with whole numbers, and later gets decimals.

    python examples/whole_numbers_then_decimals.py

Promise: no value is lost or rounded, and you say what becomes of the column. By default, as in dlt,
decimals go to a column beside it. Where Delta may widen types, the column itself becomes decimal, with
the rows that are there. And a column whose type you declare takes both from the first row on.
"""

import sys
import tempfile
from typing import Any

import penstock

FIRST = [{"id": 1, "price": 3}, {"id": 2, "price": 4}]
LATER = [{"id": 3, "price": 3.5}, {"id": 4, "price": 5}]
PRICES = [(1, 3), (2, 4), (3, 3.5), (4, 5)]


def main(folder: str) -> str | None:
    """Load the same rows in three ways; gives what is wrong, if anything is."""
    widening = {"table_properties": {"delta.enableTypeWidening": True}}
    declared = {"columns": {"price": {"data_type": "double"}}}
    by_default = price_columns(folder, "by_default", {}, {})
    widened = price_columns(folder, "widened", widening, {})
    told = price_columns(folder, "declared", {}, declared)
    if by_default != {"price": "bigint", "price__v_double": "double"}:
        return "there was to be a column for decimals"
    if widened != {"price": "decimal(38,9)"}:
        return "the column was to become wider"
    return None if told == {"price": "double"} else "the column was to be what was declared"


def price_columns(folder: str, name: str, settings: dict[str, Any], hints: dict[str, Any]) -> dict[str, str]:
    """Load whole numbers, then decimals; gives the columns with prices and their types."""
    lake = penstock.destinations.delta(bucket_url=f"{folder}/lake", **settings)
    pipeline = penstock.pipeline(name, f"{folder}/pipelines", destination=lake, dataset_name=name)
    for rows in (FIRST, LATER):
        pipeline.run(rows, table_name="items", **hints)

    items = pipeline.dataset()["items"].spark()
    columns = {column: kind for column, kind in items.dtypes if column.startswith("price")}
    found = items.selectExpr("id", f"coalesce({', '.join(columns)}) AS price").collect()
    prices = sorted((row["id"], row["price"]) for row in found)
    print(f"{name}: columns {columns}, values {[(number, float(price)) for number, price in prices]}")
    if prices != PRICES:
        sys.exit("values are lost or rounded")
    return columns


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        sys.exit(main(home))
