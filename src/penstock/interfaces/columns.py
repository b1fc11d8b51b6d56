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

ColumnKind = Literal["time", "json"]
"""Texts that stand for something else: a time of day, a JSON document."""
KIND: Final = "penstock.kind"
"""The key in the metadata of a DataFrame's column that says so of its texts."""
Fields = tuple["Mapping[str, Any]", ...]

NO_COLUMN: Final = "c"
"""The column of files that would have none: Parquet counts no rows without one."""
_PLAIN = re.compile(r"(?!c_[0-9a-f]{16}$)[a-z][a-z0-9_]*")


def file_name(key: str) -> str:
    """The name of a column in files. It depends on the key alone, so files of one table fit together.

    >>> file_name("price"), file_name("Unit Price")
    ('price', 'c_7015111a6b486cc4')
    """
    if _PLAIN.fullmatch(key) and key != NO_COLUMN:
        return key
    return f"c_{hashlib.shake_128(key.encode('utf-8', 'surrogatepass')).hexdigest(8)}"


def field(key: str, kind: Any, *, name: str, meaning: ColumnKind | None = None) -> dict[str, Any]:
    """One column, or one field of a struct."""
    metadata = {**({"key": key} if key != name else {}), **({"kind": meaning} if meaning else {})}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All columns, or the type of a column that is a struct."""
    return {"type": "struct", "fields": [dict(one) for one in fields]}


def array(element: Any) -> dict[str, Any]:
    """The type of a column that is a list."""
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    """The type of a column that is a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def key_of(column: Mapping[str, Any]) -> str:
    """The key that the user gave to a column."""
    return str(column["metadata"].get("key", column["name"]))


def joined(known: Any, more: Any) -> Any:
    """One type that reads the files of both; None where they contradict each other.

    A column that only one of them has is null in the files of the other.
    """
    if known == more:
        return known
    if isinstance(known, str) or isinstance(more, str) or known["type"] != more["type"]:
        return None
    match known["type"]:
        case "struct":
            return _joined_struct(known, more)
        case "array":
            element = joined(known["elementType"], more["elementType"])
            return None if element is None else array(element)
        case _:
            return None


def _joined_struct(known: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any] | None:
    fields = {one["name"]: one for one in known["fields"]}
    for new in more["fields"]:
        old = fields.setdefault(new["name"], new)
        kind = joined(old["type"], new["type"])
        if kind is None or old["metadata"] != new["metadata"]:
            return None
        fields[new["name"]] = {**old, "type": kind}
    return struct(fields.values())
