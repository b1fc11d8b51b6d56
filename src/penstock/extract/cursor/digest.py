"""The hash of a row at the boundary: dlt's own, so that either tool recognizes the rows of the other."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import orjson

from penstock.errors import IncrementalPrimaryKeyMissing
from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_custom

DIGEST_SIZE: Final = 9
"""Bytes of a hash: 12 characters in the state."""
OLD_DIGEST_SIZE: Final = 15
"""Bytes of a hash before dlt 1.29: 20 characters."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS
_NEW_OPTIONS: Final = _OPTIONS | orjson.OPT_PASSTHROUGH_DATETIME
_OLD_OPTIONS: Final = _OPTIONS | orjson.OPT_UTC_Z

Hasher = Callable[[Any], bytes]


def hasher(key: Any, *, resource: str, old_format: bool = False) -> Hasher:
    """Return a function for the hash of a row: of its key, or of the whole row if `key` is None.

    >>> digest_to_text(hasher("id", resource="orders")({"id": 1}))
    '669czW83KR00'
    """
    digest = old_digest if old_format else new_digest
    if key is None:
        return digest
    part = _key_reader(key, resource)
    return lambda row: digest(part(row))


def _key_reader(key: Any, resource: str) -> Callable[[Any], Any]:
    def value(row: Any, name: str) -> Any:
        try:
            return row[name]
        except KeyError as error:
            raise IncrementalPrimaryKeyMissing(resource=resource, key=name) from error
        except TypeError:  # a model, or an object of another class
            return getattr(row, name)

    if isinstance(key, str):
        return lambda row: value(row, key)
    if callable(key):
        return lambda row: _key_reader(key(row), resource)(row)
    names = tuple(key)
    return lambda row: [value(row, name) for name in names]


def new_digest(value: Any) -> bytes:
    """Return the hash of any value; equal instants in two time zones have one hash."""
    return hashlib.shake_128(_json_bytes(value, _NEW_OPTIONS, _json_default)).digest(DIGEST_SIZE)


def old_digest(value: Any) -> bytes:
    """Return the hash that dlt wrote before 1.29."""
    return hashlib.shake_128(_json_bytes(value, _OLD_OPTIONS, _old_json_default)).digest(OLD_DIGEST_SIZE)


def digest_to_text(digest: bytes) -> str:
    """Return the form in the state."""
    return base64.b64encode(digest).decode("ascii").rstrip("=")


def digest_from_text(text: str) -> bytes:
    """Parse a text of `digest_to_text`."""
    return base64.b64decode(text + "=" * (-len(text) % 4))


def has_old_digests(digests: Iterable[bytes]) -> bool:
    """Return whether these are hashes of dlt before 1.29."""
    return any(len(digest) == OLD_DIGEST_SIZE for digest in digests)


def _json_bytes(value: Any, options: int, default: Callable[[Any], Any]) -> bytes:
    try:
        return orjson.dumps(value, default, options)
    except orjson.JSONEncodeError:
        # Values that dlt refuses: integers beyond 64 bits, sets, numpy.
        try:
            return encode(value)
        except (TypeError, ValueError):
            # The row will be quarantined when it is written, and is read again by the next run.
            return repr(value).encode("utf-8", "replace")


def _json_default(value: Any) -> Any:
    if isinstance(value, datetime):
        instant = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (instant - _EPOCH) // _MICROSECOND
    return _old_json_default(value)


def _old_json_default(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    for method in ("asdict", "_asdict", "model_dump"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, Mapping):
        return dict(value)
    return encode_custom(value)
