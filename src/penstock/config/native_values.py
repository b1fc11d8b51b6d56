"""Specs that are given as one value: an object, JSON text, or a text that only the spec can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def parse_native(spec: type[BaseModel], native: Any) -> Mapping[str, Any]:
    """The fields that `native` says; ValueError where it says nothing that the spec understands.

    >>> class Api(BaseModel):
    ...     pages: int = 10
    >>> parse_native(Api, '{"pages": 3}'), parse_native(Api, None)
    ({'pages': 3}, {})
    """
    if native is None:
        return {}
    if isinstance(native, BaseModel):
        return {name: getattr(native, name) for name in native.model_fields_set}
    found = _as_mapping(native)
    if found is not None:
        return found
    if not hasattr(spec, "parse_native_representation"):
        raise ValueError("it is not an object")
    before = {name: _field_default(info) for name, info in spec.model_fields.items()}
    part: Any = spec.model_construct(**before)
    part.parse_native_representation(native)
    return {name: value for name, value in part.__dict__.items() if value != before.get(name)}


def _as_mapping(native: Any) -> Mapping[str, Any] | None:
    if isinstance(native, Mapping):
        return native
    if isinstance(native, str) and native.lstrip().startswith("{"):
        with suppress(ValueError):
            read = json.loads(native)
            return read if isinstance(read, dict) else None
    return None


def _field_default(info: FieldInfo) -> Any:
    default = info.get_default(call_default_factory=True)
    return None if default is PydanticUndefined else default
