"""A Python row becomes one line of JSON text. Types that JSON lacks carry a one-character tag."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson

from penstock.extract.plain import careful, deep_text, has_fields, is_numpy, shaped_row, tagged
from penstock.package import tags

# Keys that are no texts are looked at: 1 and "1" would be one key of JSON.
_FAST = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
# The first two UTF-8 bytes that all tags share: a cheap look before a careful one.
_TAG_BYTES = tags.DECIMAL.encode()[:2]


def encode(row: Any) -> bytes:
    """The JSON text of a row; a row that is no object becomes `{"value": row}`.

    >>> encode({"a": 1}), encode(7)
    (b'{"a":1}', b'{"value":7}')
    """
    shaped = shaped_row(row)
    try:
        text = orjson.dumps(shaped, tagged, _FAST)
    except orjson.JSONEncodeError:
        return _encode_carefully(shaped)
    # The encoder writes NaN and Infinity as null, and lets a user's text begin like one of our tags.
    if _TAG_BYTES in text or (b"null" in text and _has_infinite(shaped)):
        return _encode_carefully(shaped)
    return text


def _encode_carefully(row: Any) -> bytes:
    try:
        return orjson.dumps(careful(row), tagged, _FAST)
    except RecursionError:
        return deep_text(row).encode()
    except orjson.JSONEncodeError as error:
        if "ecursion" in str(error):
            return deep_text(row).encode()
        # What our own function said is clearer than what the encoder made of it.
        raise error.__cause__ or error from None


def _has_infinite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_infinite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_has_infinite, value))
    return has_fields(value) or is_numpy(value) or isinstance(value, Enum)
