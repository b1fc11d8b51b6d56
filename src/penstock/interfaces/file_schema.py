"""Schema documents of typed files, written by `extract` and read by `normalize`.

A document has the form of Spark's JSON schemas, so that no file needs to be opened. Columns have file names
that every engine accepts; the metadata of a field has the user's key (`key`), the kind of value if the type
alone is ambiguous (`kind`), and the user's type if the write widened it (`original`).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LogicalType = Literal["time", "json"]
"""Texts that represent another type: a time of day, a JSON document."""
LOGICAL_TYPE_KEY: Final = "penstock.kind"
"""The key for the kind in the metadata of a DataFrame's column."""
Fields = tuple["Mapping[str, Any]", ...]

PLACEHOLDER_COLUMN: Final = "c"
"""The column of files without columns, because Parquet cannot count rows without one."""
# Types of the columns of tables, and types that they hold without loss.
_TABLE_TYPES: Final = frozenset(("boolean", "long", "double", "string", "binary", "date", "timestamp"))
_WIDENED_TYPES: Final = {**dict.fromkeys(("byte", "short", "integer"), "long"), "float": "double"}
_DECIMAL: Final = re.compile(r"decimal\(\d+,\s*-?\d+\)")
_PLAIN_NAME = re.compile(r"(?!c_[0-9a-f]{16}$)[a-z][a-z0-9_]*")


def file_column_name(key: str) -> str:
    """Return the name of a column in files. It depends on the key alone, so files of one table match.

    >>> file_column_name("price"), file_column_name("Unit Price")
    ('price', 'c_7015111a6b486cc4')
    """
    if _PLAIN_NAME.fullmatch(key) and key != PLACEHOLDER_COLUMN:
        return key
    return f"c_{hashlib.shake_128(key.encode('utf-8', 'surrogatepass')).hexdigest(8)}"


def struct_field(
    key: str,
    data_type: Any,
    *,
    name: str,
    logical_type: LogicalType | None = None,
    original: str | None = None,
) -> dict[str, Any]:
    """Return a column, or a field of a struct; `original` is the user's type if the write widened it."""
    metadata = {"key": key if key != name else None, "kind": logical_type, "original": original}
    return {
        "name": name,
        "type": data_type,
        "nullable": True,
        "metadata": {name: value for name, value in metadata.items() if value is not None},
    }


def table_document(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema document of files that a table can take as they are; None if columns need work.

    Each column has its key as its name, and a type of tables, to which numbers are widened.

    >>> files = struct_type([struct_field("id", "integer", name="id")])
    >>> [(field["type"], original_type(field)) for field in (table_document(files) or {})["fields"]]
    [('long', 'integer')]
    """
    fields = []
    for field in document["fields"]:
        kind = field["type"]
        written = _WIDENED_TYPES.get(kind, kind) if isinstance(kind, str) else None
        if field["metadata"] or written is None or not _is_table_type(written):
            return None
        is_same = written == kind
        fields.append(
            field if is_same else struct_field(field["name"], written, name=field["name"], original=kind)
        )
    return struct_type(fields) if fields else None


def _is_table_type(kind: str) -> bool:
    return kind in _TABLE_TYPES or _DECIMAL.fullmatch(kind) is not None


def struct_type(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns of a file, or the type of a struct."""
    return {"type": "struct", "fields": [dict(field) for field in fields]}


def array_type(element: Any) -> dict[str, Any]:
    """Return the type of a list."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_type(key: Any, value: Any) -> dict[str, Any]:
    """Return the type of a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def column_key(column: Mapping[str, Any]) -> str:
    """Return the user's key of a column."""
    return str(column["metadata"].get("key", column["name"]))


def original_type(column: Mapping[str, Any]) -> Any:
    """Return the type that the user's column has, which the write may have widened."""
    return column["metadata"].get("original", column["type"])


def merged_type(left: Any, right: Any) -> Any:
    """Return a type that reads the files of both; None if they contradict each other.

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
    fields = {field["name"]: field for field in left["fields"]}
    for new in right["fields"]:
        old = fields.setdefault(new["name"], new)
        kind = merged_type(old["type"], new["type"])
        if kind is None or old["metadata"] != new["metadata"]:
            return None
        fields[new["name"]] = {**old, "type": kind}
    return struct_type(fields.values())
