"""Columns and contracts of pydantic models, read without an import of pydantic."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol, Union, cast, get_args, get_origin

from penstock.errors import UsageError
from penstock.schema.contract import Contract

if TYPE_CHECKING:
    from penstock.schema.contract import EvolutionMode
    from penstock.schema.types import DataType

_UNIONS: Final = (Union, types.UnionType)
_MODE_BY_EXTRA: Final[Mapping[str, EvolutionMode]] = {
    "ignore": "discard_value",
    "forbid": "freeze",
    "allow": "evolve",
}
# In this order: a bool is an int, a datetime is a date, a text is a sequence.
_TYPE_BY_CLASS: Final[tuple[tuple[type, DataType], ...]] = (
    (bool, "bool"),
    (str, "text"),
    (bytes, "binary"),
    (float, "double"),
    (int, "bigint"),
    (Decimal, "decimal"),
    (datetime, "timestamp"),
    (date, "date"),
    (time, "time"),
    (Mapping, "json"),
    (Sequence, "json"),
    (Set, "json"),
)


class ModelField(Protocol):
    """The attributes of a pydantic field that are read here."""

    annotation: Any
    alias: str | None


def is_model(value: Any) -> bool:
    """Return whether a value is a class or an instance of a pydantic 2 model."""
    return hasattr(value, "model_fields") and hasattr(value, "model_config")


def columns_of_model(model: Any) -> dict[str, dict[str, Any]]:
    """Return the columns of a model, by the names in the data.

    A field that may be None is nullable. A nested model is one JSON column, or a column for each of its
    fields if `dlt_config` has `skip_nested_types`, which leaves lists and dicts to the data. A field of type
    `Any` is left out.
    """
    if not is_model(model):
        raise UsageError(f"{model!r} is not a pydantic model", hint="pass a class that extends BaseModel")
    cls = model if isinstance(model, type) else type(model)
    skips = bool(getattr(cls, "dlt_config", {}).get("skip_nested_types"))
    columns: dict[str, dict[str, Any]] = {}
    for name, field in cast("Mapping[str, ModelField]", cls.model_fields).items():  # type: ignore[attr-defined]
        columns |= _columns_of_field(field.alias or name, field.annotation, skips_nested=skips)
    return columns


def contract_of_model(model: Any) -> Contract:
    """Return the contract of a model: types are frozen, new columns follow its `extra` setting."""
    extra = cast("Mapping[str, Any]", model.model_config).get("extra") or "ignore"
    return Contract(tables="evolve", columns=_MODE_BY_EXTRA[extra], data_type="freeze")


def _columns_of_field(name: str, annotation: Any, *, skips_nested: bool) -> dict[str, dict[str, Any]]:
    inner, nullable = _unwrap_annotation(annotation)
    if inner is Any:
        return {}
    if is_model(inner):
        if skips_nested:
            # As flattened data: a field of an optional model is nullable.
            return {
                f"{name}__{key}": {
                    **column,
                    "name": f"{name}__{key}",
                    "nullable": column["nullable"] or nullable,
                }
                for key, column in columns_of_model(inner).items()
            }
        kind: DataType = "json"
    else:
        kind = _data_type_of(inner)
        if kind == "json" and skips_nested:
            return {}
    return {name: {"name": name, "data_type": kind, "nullable": nullable}}


def _unwrap_annotation(annotation: Any) -> tuple[Any, bool]:
    """Return the type of an annotation, the first member of a union, and whether None is allowed."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _unwrap_annotation(get_args(annotation)[0])
    if origin in _UNIONS:
        members = [member for member in get_args(annotation) if member is not type(None)]
        inner, nullable = _unwrap_annotation(members[0])
        return inner, nullable or len(members) < len(get_args(annotation))
    if origin is Literal:
        return type(get_args(annotation)[0]), False
    return origin or annotation, False


def _data_type_of(cls: Any) -> DataType:
    """Return the data type of a class; text for unknown ones."""
    if not isinstance(cls, type):
        return "text"
    if issubclass(cls, Enum):
        return "bigint" if issubclass(cls, int) else "text"
    return next((kind for base, kind in _TYPE_BY_CLASS if issubclass(cls, base)), "text")
