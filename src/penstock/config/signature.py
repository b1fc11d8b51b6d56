"""Markers for configured arguments, and the configured arguments of a function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_origin, get_type_hints

from pydantic import BaseModel

from penstock.config.secret import SecretMark
from penstock.config.specs import SpecField, spec_fields
from penstock.config.type_hints import is_optional, union_members
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config.specs import BaseConfiguration


class ConfigValue:
    """The default of an argument that comes from configuration."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def secret(self) -> bool:
        """Whether the argument is a secret."""
        return self._name == "secrets"

    def __repr__(self) -> str:
        return f"penstock.{self._name}.value"

    def __copy__(self) -> ConfigValue:
        return self

    def __deepcopy__(self, memo: Any) -> ConfigValue:
        return self

    def __reduce__(self) -> str:
        return f"{'secrets' if self.secret else 'config'}_value"


config_value: Final[Any] = ConfigValue("config")
"""`def github(org: str = config_value)`: the argument is looked up in every provider."""

secrets_value: Final[Any] = ConfigValue("secrets")
"""`def github(token: str = secrets_value)`: a secret, looked up in providers that may hold secrets."""


# Types of values from files or variables. Other arguments are not configurable.
_CONFIGURABLE_TYPES: Final = (str, int, float, bool, bytes, list, dict, tuple, set, frozenset, BaseModel)
_UNRESOLVED_HINT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """The configurable arguments of a function."""

    name: str
    fields: tuple[SpecField, ...]
    marked: frozenset[str] = frozenset()
    """The arguments whose default is a marker."""

    def field(self, name: str) -> SpecField | None:
        """Return the field of an argument, or None if it is not configurable."""
        return next((spec_field for spec_field in self.fields if spec_field.name == name), None)


def function_spec(
    function: Callable[..., Any],
    *,
    spec: type[BaseConfiguration] | None = None,
    include_defaults: bool = True,
) -> FunctionSpec:
    """Return the configurable arguments of a function.

    An argument with a marker as default is required unless its type is optional. With `include_defaults`,
    arguments with other defaults are optional. Arguments without default are not configurable. With `spec`,
    its fields and the marked arguments are configurable.

    >>> from penstock.config.signature import secrets_value
    >>> def github(repository, token: str = secrets_value, pages=10): ...
    >>> [(field.name, field.required, field.secret) for field in function_spec(github).fields]
    [('token', True, True), ('pages', False, False)]
    """
    parameters = inspect.signature(function).parameters
    marked = frozenset(
        name for name, parameter in parameters.items() if isinstance(parameter.default, ConfigValue)
    )
    declared = (
        {spec_field.name: spec_field for spec_field in spec_fields(spec) if spec_field.name in parameters}
        if spec
        else {}
    )
    fields: list[SpecField] = []
    for name, parameter in parameters.items():
        if name in declared:
            fields.append(declared[name])
        elif name in marked:
            fields.append(_marked_field(function, parameter))
        elif include_defaults and spec is None:
            fields += _default_field(function, parameter)
    name = getattr(function, "__name__", type(function).__name__)
    return FunctionSpec(name=name, fields=tuple(fields), marked=marked)


def _marked_field(function: Callable[..., Any], parameter: inspect.Parameter) -> SpecField:
    hint = _parameter_hint(function, parameter)
    if hint is _UNRESOLVED_HINT:
        raise UsageError(
            f"unknown type of {parameter.name} in {function}: {parameter.annotation}",
            hint="import the type where the function is defined, not only for type checks",
        )
    kind = Any if hint is None else hint
    return SpecField(
        name=parameter.name,
        hint=Annotated[kind, SecretMark()] if parameter.default.secret and not _has_spec(kind) else kind,
        required=not is_optional(kind),
    )


def _default_field(function: Callable[..., Any], parameter: inspect.Parameter) -> list[SpecField]:
    if parameter.default is parameter.empty or parameter.name.startswith("_"):
        return []
    hint = _parameter_hint(function, parameter)
    if hint is None:
        hint = Any if parameter.default is None else type(parameter.default)
    if hint is _UNRESOLVED_HINT or not all(_is_configurable(arm) for arm in union_members(hint)):
        return []
    spec_field = SpecField(name=parameter.name, hint=hint, default=parameter.default)
    return [
        replace(spec_field, hint=hint | None) if parameter.default is None and hint is not Any else spec_field
    ]


def _parameter_hint(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotation, None without one, or `_UNRESOLVED_HINT` if it names an unknown type."""
    if parameter.annotation is parameter.empty:
        return None
    inner = inspect.unwrap(function)
    shim = SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        hints = get_type_hints(shim, globalns=getattr(inner, "__globals__", {}), include_extras=True)
    except (NameError, AttributeError, TypeError):
        return _UNRESOLVED_HINT
    return hints["it"]


def _has_spec(hint: Any) -> bool:
    return any(isinstance(arm, type) and issubclass(arm, BaseModel) for arm in union_members(hint))


def _is_configurable(member: Any) -> bool:
    kind = get_origin(member) or member
    if kind is Any or kind is Literal:
        return True
    return isinstance(kind, type) and (issubclass(kind, _CONFIGURABLE_TYPES) or _is_plain_type(kind))


def _is_plain_type(kind: type) -> bool:
    return kind.__module__ in ("datetime", "decimal", "uuid", "enum", "pathlib") or kind.__name__ in (
        "Mapping",
        "MutableMapping",
        "Sequence",
        "MutableSequence",
    )
