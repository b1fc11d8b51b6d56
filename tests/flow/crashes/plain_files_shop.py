"""A shop whose tables are plain files: one resource adds rows, the other replaces them."""

from __future__ import annotations

from typing import Any

import penstock
from penstock.testing import documents

BATCHES: dict[str, list[list[dict[str, Any]]]] = {
    "events": [[{"id": 1, "tags": ["a", "b"]}], [{"id": 2, "tags": ["c"]}, {"id": 3}]],
    "stock": [[{"id": 1, "parts": [1, 2], "tags": ["x"]}, {"id": 2}], [{"id": 3, "parts": [4]}]],
}
DISPOSITIONS = {"events": "append", "stock": "replace"}
TABLES = ("events", "events__tags", "stock", "stock__parts", "stock__tags")

Content = dict[str, Any]


def shop(upto: int) -> list[Any]:
    """Return resources that store the number of their last batch in their state."""

    def batch(name: str) -> Any:
        state = penstock.current.resource_state()
        if state.get("done", 0) < upto:
            yield from BATCHES[name][upto - 1]
        state["done"] = upto

    # A replaced resource starts from scratch each time, so only the batch of the call counts for it.
    return [
        penstock.resource(batch, name=name, write_disposition=options)(name)
        for name, options in DISPOSITIONS.items()
    ]


def comparable_content(tables: dict[str, list[dict[str, Any]]]) -> Content:
    return {
        root: documents({name: rows for name, rows in tables.items() if name.startswith(root)}, root)
        for root in DISPOSITIONS
    }
