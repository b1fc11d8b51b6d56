"""JSON for values that it has no types for: dates, decimals, UUIDs, bytes, dataclasses and models.

`dumps` writes them as plain texts and objects. The `typed_` functions mark each text with its type, as in
stored states, and restore it. `set_custom_encoder` adds types.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, time
from decimal import Decimal
from typing import IO, Any, Final, TypeAlias
from uuid import UUID

import orjson

from penstock.extract.json_fallback import JsonEncoder, encode_custom, set_custom_encoder
from penstock.package.typed_json import from_typed, to_typed

__all__ = [
    "JsonEncoder",
    "JsonSerializable",
    "dump",
    "dumpb",
    "dumps",
    "load",
    "loadb",
    "loads",
    "set_custom_encoder",
    "typed_dump",
    "typed_dumpb",
    "typed_dumps",
    "typed_loadb",
    "typed_loads",
]

JsonSerializable: TypeAlias = str | dict[str, Any]
"""The JSON form of a value, as an encoder returns it."""
_INDENT_AND_SORT: Final = {
    (sort_keys, pretty): orjson.OPT_NON_STR_KEYS
    | orjson.OPT_PASSTHROUGH_DATETIME  # it refuses times with a zone
    | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    | (orjson.OPT_INDENT_2 if pretty else 0)
    for sort_keys in (False, True)
    for pretty in (False, True)
}


def dumpb(obj: Any, sort_keys: bool = False, pretty: bool = False) -> bytes:
    """Return a value as JSON in UTF-8.

    >>> dumpb({"price": Decimal("1.50"), "on": date(2024, 1, 2)})
    b'{"price":"1.50","on":"2024-01-02"}'
    """
    return orjson.dumps(obj, default=_plain, option=_INDENT_AND_SORT[bool(sort_keys), bool(pretty)])


def dumps(obj: Any, sort_keys: bool = False, pretty: bool = False) -> str:
    """Return a value as a JSON text.

    >>> dumps({"b": 1, "a": b"abc"}, sort_keys=True)
    '{"a":"YWJj","b":1}'
    """
    return dumpb(obj, sort_keys, pretty).decode()


def dump(obj: Any, fp: IO[bytes], sort_keys: bool = False, pretty: bool = False) -> None:
    """Write a value as JSON to a binary file."""
    fp.write(dumpb(obj, sort_keys, pretty))


def loadb(s: bytes | bytearray | memoryview) -> Any:
    """Read JSON in UTF-8.

    >>> loadb(b'{"a": [1, null]}')
    {'a': [1, None]}
    """
    return orjson.loads(s)


def loads(s: str) -> Any:
    """Read a JSON text.

    >>> loads('{"a": 1.5}')
    {'a': 1.5}
    """
    return orjson.loads(s)


def load(fp: IO[bytes] | IO[str]) -> Any:
    """Read JSON from a file."""
    return orjson.loads(fp.read())


def typed_dumpb(obj: Any, sort_keys: bool = False, pretty: bool = False) -> bytes:
    """Return a value as JSON in UTF-8 with the types of its texts.

    >>> typed_loadb(typed_dumpb([Decimal("1.50"), date(2024, 1, 2)]))
    [Decimal('1.50'), datetime.date(2024, 1, 2)]
    """
    return dumpb(to_typed(obj, _plain), sort_keys, pretty)


def typed_dumps(obj: Any, sort_keys: bool = False, pretty: bool = False) -> str:
    """Return a value as a JSON text with the types of its texts.

    >>> typed_loads(typed_dumps({"raw": b"abc"}))
    {'raw': b'abc'}
    """
    return typed_dumpb(obj, sort_keys, pretty).decode()


def typed_dump(obj: Any, fp: IO[bytes], pretty: bool = False) -> None:
    """Write a value as JSON with the types of its texts to a binary file."""
    fp.write(typed_dumpb(obj, pretty=pretty))


def typed_loadb(s: bytes | bytearray | memoryview) -> Any:
    """Read JSON in UTF-8 and restore the types of its texts.

    >>> typed_loadb(b'["plain"]')
    ['plain']
    """
    return from_typed(orjson.loads(s))


def typed_loads(s: str) -> Any:
    """Read a JSON text and restore the types of its texts.

    >>> typed_loads('{"a": "plain"}')
    {'a': 'plain'}
    """
    return from_typed(orjson.loads(s))


def _plain(value: Any) -> Any:
    """Return the JSON form of a value that orjson has none for."""
    match value:
        case date() | time():  # and subclasses, such as those of pendulum
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case Mapping():
            return dict(value)
        case _:
            for method in ("_asdict", "asdict", "model_dump"):
                if callable(to_dict := getattr(value, method, None)):
                    return to_dict()
            if is_dataclass(value) and not isinstance(value, type):  # of typed JSON
                return asdict(value)
            return encode_custom(value)
