"""The quarantine table: its name and its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.types import DataType

QUARANTINE_TABLE: Final = "_dlt_quarantine"
QUARANTINE_COLUMNS: Final[Mapping[str, DataType]] = {
    "resource_name": "text",
    "table_name": "text",
    "path": "text",
    "rule": "text",
    "item": "bigint",
    "reason": "text",
    "raw": "text",
}
"""Columns in order.

`path` is the path of the refused value, as JSON, and `rule` the reason: a part of the schema contract, or
`json` for a row that cannot be read or written. `item` is the position of the row among those of its
resource, its file or its list.
"""
ROOT_PATH: Final = "[]"
UNREADABLE_RULE: Final = "json"
EXPECTATION_RULE: Final = "expectation"
"""The first word of the rule of rows that fail a check of their resource."""
