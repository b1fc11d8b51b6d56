"""Encodes a Python row as one line of JSON text, with one-character tags for types that JSON lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson

from penstock.extract.json_fallback import (
    as_object,
    custom_encoder,
    encode_deep,
    has_fields,
    is_numpy,
    json_default,
    tag_values,
)
from penstock.package import tags

# Keys that are not strings raise an error: 1 and "1" would be one key in JSON.
_ORJSON_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
# The first two UTF-8 bytes that all tags share: a cheap check before the exact one.
_TAG_PREFIX = tags.DECIMAL.encode()[:2]


def encode(row: Any) -> bytes:
    """Return the JSON text of a row; a row that is no object becomes `{"value": row}`.

    A fragment is such a text already.

    >>> encode({"a": 1}), encode(7)
    (b'{"a":1}', b'{"value":7}')
    """
    if type(row) is orjson.Fragment:
        return orjson.dumps(row)
    shaped = as_object(row)
    try:
        text = orjson.dumps(shaped, json_default, _ORJSON_OPTIONS)
    except orjson.JSONEncodeError:
        return _encode_strict(shaped)
    # orjson writes NaN and Infinity as null, and does not escape a user's text that begins with a tag.
    if _TAG_PREFIX in text or (b"null" in text and _may_be_non_finite(shaped)):
        return _encode_strict(shaped)
    return text


def _encode_strict(row: Any) -> bytes:
    try:
        return orjson.dumps(tag_values(row), json_default, _ORJSON_OPTIONS)
    except RecursionError:
        return encode_deep(row).encode()
    except orjson.JSONEncodeError as error:
        if "ecursion" in str(error):
            return encode_deep(row).encode()
        # The error of `json_default` is clearer than that of the encoder.
        raise error.__cause__ or error from None


def _may_be_non_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_may_be_non_finite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_may_be_non_finite, value))
    return has_fields(value) or is_numpy(value) or isinstance(value, Enum) or custom_encoder() is not None
