"""Loads and steps of scenarios, as plain data."""

from __future__ import annotations

from itertools import count
from typing import Any

Step = dict[str, Any]
Resource = dict[str, Any]
Rows = list[dict[str, Any]]

STRATEGIES = ("delete-insert", "upsert", "insert-only", "scd2")
FIRST_ROWS: Rows = [{"id": 1, "price": 5, "tags": ["x", "y"]}, {"id": 2, "price": 6, "tags": ["z"]}]
SECOND_ROWS: Rows = [{"id": 2, "price": 7, "tags": ["z", "w"]}, {"id": 3, "price": 8}]
THIRD_ROWS: Rows = [{"id": 4, "price": 9, "tags": ["v"]}]
PLAIN: Rows = [{"id": 1, "price": 5}, {"id": 2, "price": 6}]
LAST: Rows = [{"id": 3, "price": 8}]
NEW_COLUMN: Rows = [{"id": 5, "price": 1, "note": "fragile"}, {"id": 6, "price": 2}]
NEW_TABLE: Rows = [{"id": 5, "price": 1, "gifts": ["card"]}, {"id": 6, "price": 2}]
OTHER_TYPE: Rows = [{"id": 5, "price": "a lot"}, {"id": 6, "price": 2}]
EARLY: Rows = [{"id": number, "at": number} for number in (1, 2, 3)]
LATE: Rows = [{"id": number, "at": min(number, 4)} for number in (2, 3, 4, 5)]
"""Two rows have the last value; the first two are in `EARLY`."""
WIDE: Rows = [*LAST, {"id": 4, "price": 3_000_000_000}]
INT: dict[str, Any] = {"columns": {"price": {"data_type": "bigint", "precision": 32}}}


class Orders:
    """The resource of a scenario, load by load; versions of rows get a timestamp for each load."""

    def __init__(self, word: str, **options: Any) -> None:
        """Create the resource; `word` is the disposition, or the strategy of a merge."""
        self._word, self._said, self._numbers = word, options, count(1)

    def __call__(self, rows: Rows, hints: dict[str, Any] | None = None, **options: Any) -> Resource:
        return {
            "name": "orders",
            "rows": rows,
            "hints": {**self._hints(), **(hints or {})},
            **self._said,
            **options,
        }

    def _hints(self) -> dict[str, Any]:
        if self._word not in STRATEGIES:
            return {"write_disposition": self._word}
        merge = {"disposition": "merge", "strategy": self._word}
        if self._word != "scd2":
            return {"write_disposition": merge, "primary_key": "id"}
        moment = f"2024-01-{next(self._numbers):02d}T00:00:00+00:00"
        return {"write_disposition": {**merge, "boundary_timestamp": moment}}


def buyers() -> Resource:
    """Return another resource of the same source."""
    return {"name": "buyers", "rows": [{"id": 9, "name": "Ada"}], "hints": {}}


def step(do: str, *resources: Resource, **options: Any) -> Step:
    """Return a step with its resources."""
    return {"do": do, **({"resources": list(resources)} if resources else {}), **options}


def run(*resources: Resource, **options: Any) -> Step:
    """Return a run; without resources it finishes pending packages."""
    return step("run", *resources, **options)
