"""dlt's typed JSON, for documents that either tool may read, such as the state of a pipeline."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from penstock.errors import UsageError
from penstock.package import tags

_MAX_INTEGER, _MIN_INTEGER = 2**64 - 1, -(2**63)
_DECODERS: Final[Mapping[str, Callable[[str], Any]]] = {
    tags.DECIMAL: Decimal,
    tags.DATETIME: datetime.fromisoformat,
    tags.DATE: date.fromisoformat,
    tags.TIME: time.fromisoformat,
    tags.UUID: UUID,
    tags.HEX: lambda text: bytes.fromhex(text.removeprefix("0x")),
    tags.BYTES: base64.b64decode,
    tags.WEI: Decimal,
}


def to_typed(value: Any, encode_other: Callable[[Any], Any] | None = None) -> Any:
    """Return a copy that JSON can encode; other types become texts with a type tag.

    Values of types that have no tag are passed to `encode_other`.

    >>> to_typed({"since": date(2024, 1, 2)})["since"][1:]
    '2024-01-02'
    """
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return to_typed(value.value, encode_other)
        case int():
            return value if _MIN_INTEGER <= value <= _MAX_INTEGER else tags.DECIMAL + str(value)
        case float():
            return value if value - value == 0 else None
        case Mapping():
            return {str(key): to_typed(inner, encode_other) for key, inner in value.items()}
        case list() | tuple():
            return [to_typed(inner, encode_other) for inner in value]
        case _:
            return _encode_tagged(value, encode_other)


def from_typed(value: Any) -> Any:
    """Return a copy with tagged texts decoded; a text that cannot be decoded is unchanged."""
    match value:
        case str() if value[:1] in _DECODERS:
            try:
                return _DECODERS[value[0]](value[1:])
            except (ValueError, ArithmeticError):
                return value
        case dict():
            return {key: from_typed(inner) for key, inner in value.items()}
        case list():
            return [from_typed(inner) for inner in value]
        case _:
            return value


def _encode_tagged(value: Any, encode_other: Callable[[Any], Any] | None) -> Any:
    match value:
        case datetime():
            return tags.DATETIME + value.isoformat()
        case date():
            return tags.DATE + value.isoformat()
        case time():
            return tags.TIME + value.isoformat()
        case Decimal():
            return tags.DECIMAL + str(value)
        case bytes() | bytearray():
            return tags.BYTES + base64.b64encode(value).decode()
        case UUID():
            return str(value)
        case _ if encode_other is not None:
            return to_typed(encode_other(value), encode_other)
        case _:
            raise UsageError(
                f"a {type(value).__name__} cannot be stored in the state",
                hint="use texts, numbers, dates, bytes, lists and dicts",
            )
