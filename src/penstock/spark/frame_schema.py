"""Rules for the columns of a DataFrame that is written to typed files, without Spark."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import UnsupportedColumnType
from penstock.interfaces.file_schema import (
    LOGICAL_TYPE_KEY,
    LogicalType,
    array_type,
    file_column_name,
    map_type,
    struct_field,
    struct_type,
    table_document,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ColumnAction = Literal["as_is", "cast", "microseconds", "months", "text"]
"""How a column is written: unchanged, cast, an interval as a number, or as text."""

_SIMPLE_TYPES: Final = frozenset(
    ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz")
) | {"binary", "variant"}
_TEXT = re.compile(r"string\b.*|(?:var)?char\(\d+\)")
_DECIMAL = re.compile(r"decimal\(\d+,\s*-?\d+\)")
_DAYS = re.compile(r"interval (?:day|hour|minute|second)( to (?:hour|minute|second))?")
_MONTHS = re.compile(r"interval (?:year|month)( to month)?")
_TIME = re.compile(r"time\(\d+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameColumn:
    """A column of the frame, by position, and how it is written."""

    position: int
    name: str
    """Its name in the file."""
    action: ColumnAction
    kind: Any
    """Its type in the file, in Spark's JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSchema:
    """The columns to write, and the schema document by which they are read."""

    columns: tuple[FrameColumn, ...]
    document: Mapping[str, Any]


def writable_schema(schema: Mapping[str, Any]) -> FrameSchema:
    """Apply the rules to a schema in Spark's JSON form.

    Columns without a type (`void`) are skipped. Intervals become numbers, a time of day becomes text.
    Duplicate names and types that files cannot hold raise an error with the name of the column.
    """
    names = [column["name"] for column in schema["fields"]]
    for name, count in Counter(names).items():
        if count > 1:
            raise UnsupportedColumnType(column=name, reason="duplicate name in the DataFrame")
    columns, fields = [], []
    for position, column in enumerate(schema["fields"]):
        key = str(column["name"])
        name = file_column_name(key)
        action, kind, read, meaning = _column_rule(column["type"], key)
        if read == "string":
            meaning = column.get("metadata", {}).get(LOGICAL_TYPE_KEY, meaning)
        if read is not None:
            columns.append(FrameColumn(position=position, name=name, action=action, kind=kind))
            fields.append(struct_field(key, read, name=name, logical_type=meaning))
    return FrameSchema(columns=tuple(columns), document=struct_type(fields))


def table_schema(schema: FrameSchema) -> FrameSchema | None:
    """Return the schema of files that a table can take as they are; None if their columns need work."""
    document = table_document(schema.document)
    if document is None:
        return None
    columns = tuple(
        column if field["type"] == written["type"] else replace(column, action="cast", kind=written["type"])
        for column, field, written in zip(
            schema.columns, schema.document["fields"], document["fields"], strict=True
        )
    )
    return FrameSchema(columns=columns, document=document)


def _column_rule(kind: Any, column_path: str) -> tuple[ColumnAction, Any, Any | None, LogicalType | None]:
    if isinstance(kind, str) and _DAYS.fullmatch(kind):
        return "microseconds", "long", "long", None
    if isinstance(kind, str) and _MONTHS.fullmatch(kind):
        return "months", "long", "long", None
    if isinstance(kind, str) and _TIME.fullmatch(kind):
        return "text", "string", "string", "time"
    if kind == {"type": "struct", "fields": []}:
        return "as_is", kind, None, None
    written, read = _file_type(kind, column_path)
    return ("as_is" if written == _canonical_type(kind) else "cast"), written, read, None


def _file_type(kind: Any, column_path: str) -> tuple[Any, Any | None]:
    """Return the type in the file and the type to read it as; None if there is nothing to read."""
    if isinstance(kind, str):
        return _simple_file_type(kind, column_path)
    match kind["type"]:
        case "struct":
            return _struct_file_type(kind["fields"], column_path)
        case "array":
            written, read = _file_type(kind["elementType"], f"{column_path}[]")
            return array_type(written), None if read is None else array_type(read)
        case "map":
            keys = _file_type(kind["keyType"], f"{column_path}.key")[0]
            values = _file_type(kind["valueType"], f"{column_path}.value")[0]
            return map_type(keys, values), map_type(keys, values)
        case "udt":
            return _file_type(kind["sqlType"], column_path)
        case other:
            raise UnsupportedColumnType(column=column_path, reason=f"files cannot hold the type {other}")


def _simple_file_type(kind: str, column_path: str) -> tuple[Any, Any | None]:
    if kind == "void":
        return "string", None
    if kind in _SIMPLE_TYPES or _DECIMAL.fullmatch(kind):
        return kind, kind
    if _TEXT.fullmatch(kind):
        return "string", "string"
    raise UnsupportedColumnType(column=column_path, reason=f"files cannot hold the type {kind}")


def _struct_file_type(fields: Sequence[Mapping[str, Any]], column_path: str) -> tuple[Any, Any | None]:
    if not fields:
        raise UnsupportedColumnType(column=column_path, reason="files cannot hold a struct without fields")
    folded = Counter(str(column["name"]).lower() for column in fields)
    exact = Counter(column["name"] for column in fields)
    written, read = [], []
    for index, column in enumerate(fields):
        key = str(column["name"])
        if exact[key] > 1:
            raise UnsupportedColumnType(column=f"{column_path}.{key}", reason="duplicate name in the struct")
        # The user's session may be case-insensitive and refuse to write both `a` and `A`.
        name = key if folded[key.lower()] == 1 else f"{key}_{index}"
        inner, read_type = _file_type(column["type"], f"{column_path}.{key}")
        written.append(struct_field(key, inner, name=name))
        if read_type is not None:
            read.append(struct_field(key, read_type, name=name))
    return struct_type(written), struct_type(read) if read else None


def _canonical_type(kind: Any) -> Any:
    """Return a type in its normalized form, so that types can be compared."""
    if isinstance(kind, str):
        return "string" if _TEXT.fullmatch(kind) else kind
    match kind["type"]:
        case "struct":
            return struct_type(
                struct_field(column["name"], _canonical_type(column["type"]), name=column["name"])
                for column in kind["fields"]
            )
        case "array":
            return array_type(_canonical_type(kind["elementType"]))
        case "map":
            return map_type(_canonical_type(kind["keyType"]), _canonical_type(kind["valueType"]))
        case _:
            return _canonical_type(kind["sqlType"]) if kind["type"] == "udt" else kind
