"""The tree of typed files: it comes from the columns that were written down when they were, by no job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.columns import key_of
from penstock.normalize.tree import Leaf, ListOf, Node, Object, TypedValue
from penstock.package.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TEXT: Final = TypedValue(sql="STRING", data_type="text")
_PLAIN: Final = {
    "boolean": TypedValue(sql="BOOLEAN", data_type="bool"),
    **dict.fromkeys(("byte", "short", "integer", "long"), TypedValue(sql="BIGINT", data_type="bigint")),
    **dict.fromkeys(("float", "double"), TypedValue(sql="DOUBLE", data_type="double")),
    "string": _TEXT,
    "binary": TypedValue(sql="BINARY", data_type="binary"),
    "date": TypedValue(sql="DATE", data_type="date"),
    # A moment without a zone is taken to be UTC, as everywhere.
    **dict.fromkeys(("timestamp", "timestamp_ntz"), TypedValue(sql="TIMESTAMP", data_type="timestamp")),
    "variant": TypedValue(sql="VARIANT", data_type="json"),
}
_MEANINGS: Final = {
    "time": TypedValue(sql="STRING", data_type="time"),
    "json": TypedValue(sql="STRING", data_type="json"),
}


def tree_of(columns: Mapping[str, Any]) -> Node:
    """The tree of rows that stand in files with these columns.

    Structs are objects and arrays are lists, as in rows of Python; a map has no fixed keys and is one value.
    """
    return Object(tuple((key_of(one), _node(one)) for one in columns["fields"]))


def _node(column: Mapping[str, Any]) -> Node:
    meaning = column["metadata"].get("kind")
    return Leaf("typed", _MEANINGS[meaning]) if meaning else _tree(column["type"])


def _tree(kind: Any) -> Node:
    if isinstance(kind, str):
        return Leaf("typed", _value(kind))
    match kind["type"]:
        case "struct":
            return tree_of(kind)
        case "array":
            return ListOf(_tree(kind["elementType"]))
        case _:
            return Leaf("typed", TypedValue(sql=_sql(kind), data_type="json"))


def _value(kind: str) -> TypedValue:
    digits = _DECIMAL.fullmatch(kind)
    if digits is None:
        return _PLAIN[kind]
    precision, scale = int(digits[1]), int(digits[2])
    return TypedValue(sql=kind.upper(), data_type="decimal", precision=precision, scale=scale)


def _sql(kind: Any) -> str:
    """A type as Spark SQL writes it, itself and not what it will become."""
    if isinstance(kind, str):
        return {"byte": "TINYINT", "short": "SMALLINT", "integer": "INT", "long": "BIGINT"}.get(
            kind, kind.upper()
        )
    match kind["type"]:
        case "struct":
            fields = (f"{quoted(key_of(one))}: {_sql(one['type'])}" for one in kind["fields"])
            return f"STRUCT<{', '.join(fields)}>"
        case "array":
            return f"ARRAY<{_sql(kind['elementType'])}>"
        case _:
            return f"MAP<{_sql(kind['keyType'])}, {_sql(kind['valueType'])}>"
