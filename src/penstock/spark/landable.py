"""What becomes of the columns of a DataFrame when it is landed: rules over its schema, without Spark."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import ColumnNotLandable
from penstock.interfaces.columns import KIND, ColumnKind, array, field, file_name, mapping, struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Action = Literal["as_is", "cast", "microseconds", "months", "text"]
"""How a column gets into the file: itself, cast to another type, an interval as a number, its text."""

_PLAIN: Final = frozenset(
    ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz")
) | {"binary", "variant"}
_TEXT = re.compile(r"string\b.*|(?:var)?char\(\d+\)")
_DECIMAL = re.compile(r"decimal\(\d+,\s*-?\d+\)")
_DAYS = re.compile(r"interval (?:day|hour|minute|second)( to (?:hour|minute|second))?")
_MONTHS = re.compile(r"interval (?:year|month)( to month)?")
_TIME = re.compile(r"time\(\d+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LandableColumn:
    """A column of the frame, by its position, and what is written of it."""

    position: int
    name: str
    """Its name in the file."""
    action: Action
    kind: Any
    """The type in the file, in Spark's JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landable:
    """A whole frame: the columns that are written, and the document by which they are read."""

    columns: tuple[LandableColumn, ...]
    document: Mapping[str, Any]


def landable(schema: Mapping[str, Any]) -> Landable:
    """Apply the rules to a schema in Spark's JSON form.

    Columns without a type (`void`) hold nothing and are left out. Intervals become numbers, a time of day its
    text. A name that stands twice, and types that no file can hold, are refused with the name of the column.
    """
    names = [one["name"] for one in schema["fields"]]
    for name, count in Counter(names).items():
        if count > 1:
            raise ColumnNotLandable(column=name, reason="its name stands in the DataFrame twice")
    columns, fields = [], []
    for position, one in enumerate(schema["fields"]):
        key = str(one["name"])
        name = file_name(key)
        action, kind, read, meaning = _column(one["type"], key)
        if read == "string":
            meaning = one.get("metadata", {}).get(KIND, meaning)
        if read is not None:
            columns.append(LandableColumn(position=position, name=name, action=action, kind=kind))
            fields.append(field(key, read, name=name, meaning=meaning))
    return Landable(columns=tuple(columns), document=struct(fields))


def _column(kind: Any, where: str) -> tuple[Action, Any, Any | None, ColumnKind | None]:
    if isinstance(kind, str) and _DAYS.fullmatch(kind):
        return "microseconds", "long", "long", None
    if isinstance(kind, str) and _MONTHS.fullmatch(kind):
        return "months", "long", "long", None
    if isinstance(kind, str) and _TIME.fullmatch(kind):
        return "text", "string", "string", "time"
    if kind == {"type": "struct", "fields": []}:
        return "as_is", kind, None, None
    written, read = _type(kind, where)
    return ("as_is" if written == _opened(kind) else "cast"), written, read, None


def _type(kind: Any, where: str) -> tuple[Any, Any | None]:
    """The type in the file, and the type that is read from it; None where there is nothing to read."""
    if isinstance(kind, str):
        return _plain_type(kind, where)
    match kind["type"]:
        case "struct":
            return _struct_type(kind["fields"], where)
        case "array":
            written, read = _type(kind["elementType"], f"{where}[]")
            return array(written), None if read is None else array(read)
        case "map":
            keys = _type(kind["keyType"], f"{where}.key")[0]
            values = _type(kind["valueType"], f"{where}.value")[0]
            return mapping(keys, values), mapping(keys, values)
        case "udt":
            return _type(kind["sqlType"], where)
        case other:
            raise ColumnNotLandable(column=where, reason=f"files cannot hold the type {other}")


def _plain_type(kind: str, where: str) -> tuple[Any, Any | None]:
    if kind == "void":
        return "string", None
    if kind in _PLAIN or _DECIMAL.fullmatch(kind):
        return kind, kind
    if _TEXT.fullmatch(kind):
        return "string", "string"
    raise ColumnNotLandable(column=where, reason=f"files cannot hold the type {kind}")


def _struct_type(fields: Sequence[Mapping[str, Any]], where: str) -> tuple[Any, Any | None]:
    if not fields:
        raise ColumnNotLandable(column=where, reason="files cannot hold a struct without fields")
    folded = Counter(str(one["name"]).lower() for one in fields)
    exact = Counter(one["name"] for one in fields)
    written, read = [], []
    for index, one in enumerate(fields):
        key = str(one["name"])
        if exact[key] > 1:
            raise ColumnNotLandable(column=f"{where}.{key}", reason="its name stands in the struct twice")
        # The user's session may not tell `a` from `A`, and would refuse to write both.
        name = key if folded[key.lower()] == 1 else f"{key}_{index}"
        inner, found = _type(one["type"], f"{where}.{key}")
        written.append(field(key, inner, name=name))
        if found is not None:
            read.append(field(key, found, name=name))
    return struct(written), struct(read) if read else None


def _opened(kind: Any) -> Any:
    """A type in the form in which the rules give it, so that the two can be compared."""
    if isinstance(kind, str):
        return "string" if _TEXT.fullmatch(kind) else kind
    match kind["type"]:
        case "struct":
            return struct(
                field(one["name"], _opened(one["type"]), name=one["name"]) for one in kind["fields"]
            )
        case "array":
            return array(_opened(kind["elementType"]))
        case "map":
            return mapping(_opened(kind["keyType"]), _opened(kind["valueType"]))
        case _:
            return _opened(kind["sqlType"]) if kind["type"] == "udt" else kind
