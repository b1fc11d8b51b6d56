"""The columns of typed files: what `extract` leaves behind of a frame, and `normalize` reads it by.

A document in the form of Spark's JSON schemas, so that nobody has to open a file to know it. Columns stand
in the files under names that no engine stumbles over; the metadata of a field has the key that the user gave
(`key`), and what the value is where the type alone does not tell (`kind`).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LogicalType = Literal["time", "json"]
"""Texts that stand for something else: a time of day, a JSON document."""
LOGICAL_TYPE_KEY: Final = "penstock.kind"
"""The key in the metadata of a DataFrame's column that says so of its texts."""
Fields = tuple["Mapping[str, Any]", ...]

PLACEHOLDER_COLUMN: Final = "c"
"""The column of files that would have none: Parquet counts no rows without one."""
_PLAIN_NAME = re.compile(r"(?!c_[0-9a-f]{16}$)[a-z][a-z0-9_]*")


def file_column_name(key: str) -> str:
    """The name of a column in files. It depends on the key alone, so files of one table fit together.

    >>> file_column_name("price"), file_column_name("Unit Price")
    ('price', 'c_7015111a6b486cc4')
    """
    if _PLAIN_NAME.fullmatch(key) and key != PLACEHOLDER_COLUMN:
        return key
    return f"c_{hashlib.shake_128(key.encode('utf-8', 'surrogatepass')).hexdigest(8)}"


def struct_field(
    key: str, data_type: Any, *, name: str, logical_type: LogicalType | None = None
) -> dict[str, Any]:
    """One column, or one field of a struct."""
    metadata = {**({"key": key} if key != name else {}), **({"kind": logical_type} if logical_type else {})}
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def struct_type(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All columns, or the type of a column that is a struct."""
    return {"type": "struct", "fields": [dict(one) for one in fields]}


def array_type(element: Any) -> dict[str, Any]:
    """The type of a column that is a list."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_type(key: Any, value: Any) -> dict[str, Any]:
    """The type of a column that is a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def column_key(column: Mapping[str, Any]) -> str:
    """The key that the user gave to a column."""
    return str(column["metadata"].get("key", column["name"]))


def merged_type(left: Any, right: Any) -> Any:
    """One type that reads the files of both; None where they contradict each other.

    A column that only one of them has is null in the files of the other.
    """
    if left == right:
        return left
    if isinstance(left, str) or isinstance(right, str) or left["type"] != right["type"]:
        return None
    match left["type"]:
        case "struct":
            return _merged_struct(left, right)
        case "array":
            element = merged_type(left["elementType"], right["elementType"])
            return None if element is None else array_type(element)
        case _:
            return None


def _merged_struct(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any] | None:
    fields = {one["name"]: one for one in left["fields"]}
    for new in right["fields"]:
        old = fields.setdefault(new["name"], new)
        kind = merged_type(old["type"], new["type"])
        if kind is None or old["metadata"] != new["metadata"]:
            return None
        fields[new["name"]] = {**old, "type": kind}
    return struct_type(fields.values())
