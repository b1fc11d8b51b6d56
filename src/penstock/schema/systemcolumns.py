"""The columns that the engine fills itself: ids, load id, links between rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.schema.defaults import (
    ID_COLUMN,
    LIST_INDEX_COLUMN,
    LOAD_ID_COLUMN,
    PARENT_ID_COLUMN,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.column import Column
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.types import DataType

_ROOT_COLUMNS: Final[Mapping[str, DataType]] = {LOAD_ID_COLUMN: "text", ID_COLUMN: "text"}
_NESTED_COLUMNS: Final[Mapping[str, DataType]] = {
    PARENT_ID_COLUMN: "text",
    LIST_INDEX_COLUMN: "bigint",
    ID_COLUMN: "text",
}


def system_columns(
    patterns: NamePatterns, *, is_root: bool, inherited: Mapping[str, DataType]
) -> tuple[Column, ...]:
    """Give the columns in the order in which dlt adds them; `inherited` come down from rows above."""
    own = _ROOT_COLUMNS if is_root else _NESTED_COLUMNS
    return tuple(patterns.infer_column(name, kind) for name, kind in {**inherited, **own}.items())
