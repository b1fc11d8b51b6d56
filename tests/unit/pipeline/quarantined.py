"""Quarantined rows as a load leaves them: only Spark writes them, and tests of a replay need none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.package.quarantine import QUARANTINE_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.pipeline.pipeline import Pipeline

NEW_COLUMN = "there is no column colour"


def quarantined(row: dict[str, Any] | str, **values: Any) -> dict[str, Any]:
    """Return a row of the quarantine table: by default one of orders that has a new column."""
    raw = row if isinstance(row, str) else json.dumps(row)
    defaults = {
        "resource_name": "orders",
        "table_name": "orders",
        "path": '["colour"]',
        "rule": "columns: discard_row",
        "item": 0,
        "reason": NEW_COLUMN,
    }
    return {**defaults, "raw": raw, **values}


def quarantine(pipeline: Pipeline, rows: Iterable[dict[str, Any]]) -> None:
    """Load rows into the quarantine table."""
    pipeline.run(list(rows), table_name=QUARANTINE_TABLE)


def rows_in_quarantine(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Return the visible rows of the quarantine table, in the order of their texts."""
    rows = pipeline.dataset()[QUARANTINE_TABLE].arrow().to_pylist()
    return sorted(rows, key=lambda row: str(row["raw"]))
