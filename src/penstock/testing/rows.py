"""Nested rows that are the same each time and cost next to nothing to make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def nested_rows(count: int) -> Iterator[dict[str, Any]]:
    """Small nested rows: an object, a list of objects and a list of texts in each.

    >>> row = next(nested_rows(1))
    >>> row["seller"], row["tags"], row["parts"]
    ({'city': 'town 0', 'rating': 0}, ['t0', 'u0'], [{'sku': 'p0', 'weight': 0.25}])
    """
    for number in range(count):
        yield {
            "id": number,
            "name": f"item {number}",
            "price": number + 0.5,
            "seller": {"city": f"town {number % 100}", "rating": number % 5},
            "tags": [f"t{number % 7}", f"u{number % 11}"],
            "parts": [{"sku": f"p{number}", "weight": number / 4 + 0.25}],
        }
