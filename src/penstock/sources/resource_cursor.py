"""Which cursor a resource has: by hint, or as an argument of its function, with what the settings add."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

from penstock.config import ConfigValue, resource_sections, scope
from penstock.config.fields import SpecField
from penstock.config.lookup import Sections
from penstock.config.resolution import LookupContext, resolve_fields
from penstock.config.type_hints import is_optional, union_members
from penstock.errors import ConfigFieldMissing, ResourceUnbound, UsageError
from penstock.interfaces.cursor_options import CursorOptions
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import ItemStep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import Settings
    from penstock.interfaces.hints import TableHints
    from penstock.sources.user_function import UserFunction

# Fields that a file or a variable can say, with their types; those of values are the cursor's own.
_CURSOR_SETTINGS: Final[Mapping[str, Any]] = {
    "cursor_path": str | None,
    "initial_value": None,
    "end_value": None,
    "row_order": str | None,
    "allow_external_schedulers": bool | None,
    "on_cursor_value_missing": str | None,
    "lag": float | None,
    "range_start": str | None,
    "range_end": str | None,
}


def placeholder_cursor() -> Incremental[Any] | None:
    """What stands in the steps of a resource for its own cursor, until it is read."""
    return None


CURSOR_PLACEHOLDER: Final = ItemStep(kind="incremental", function=placeholder_cursor)
"""The place of the resource's own cursor among its steps."""


def cursor_step(incremental: Incremental[Any]) -> ItemStep:
    """A step that is a cursor of its own, beside the one of the resource."""
    return ItemStep(kind="incremental", function=incremental.copy)


def is_cursor_step(step: ItemStep) -> bool:
    """Whether a step is a cursor: those stand at the end, unless they were put elsewhere."""
    return step.kind == "incremental"


def steps_with_cursor(
    steps: tuple[ItemStep, ...], resource_cursor: ResourceCursor, *, key: Any
) -> tuple[ItemStep, ...]:
    """Steps as they are read: with the own cursor in its place, and the key of the resource for the first."""
    found = tuple(
        replace(one, function=resource_cursor) if one is CURSOR_PLACEHOLDER else one for one in steps
    )
    first = next((one for one in found if is_cursor_step(one)), None)
    if first is None or not key:
        return found

    def keyed() -> Incremental[Any] | None:
        cursor: Incremental[Any] | None = first.function()
        if cursor is not None:
            cursor.use_key(key)
        return cursor

    return tuple(replace(one, function=keyed) if one is first else one for one in found)


def cursor_parameter(user_function: UserFunction) -> inspect.Parameter | None:
    """The argument that takes the cursor: the first with one as default, or annotated with one."""
    for one in user_function.signature.parameters.values():
        if (
            isinstance(one.default, Incremental)
            or _annotated_value_type(user_function.function, one) is not None
        ):
            return one
    return None


class ResourceCursor:
    """The cursor of one resource, made when it is first asked for; the function and its steps share it."""

    def __init__(
        self,
        user_function: UserFunction | None,
        hints: TableHints,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
    ) -> None:
        self._user_function, self._resource = user_function, resource
        self._hint_cursor: Incremental[Any] | None = hints.incremental
        self._sections, self._settings = sections, settings
        self.parameter = cursor_parameter(user_function) if user_function else None
        self._cursor_cache: tuple[Incremental[Any] | None] | None = None
        self.declared_cursor = self._find_declared_cursor()
        """The cursor as a hint of the table; what the settings say of it is added when it is made."""

    def __call__(self) -> Incremental[Any] | None:
        """The cursor; None where an optional argument got none."""
        if self._cursor_cache is None:
            self._cursor_cache = (self._resolve(),)
        return self._cursor_cache[0]

    def _find_declared_cursor(self) -> Incremental[Any] | None:
        if self._hint_cursor is not None or self.parameter is None or self._user_function is None:
            return self._hint_cursor
        given, default = self._user_function.explicit_args.get(self.parameter.name), self.parameter.default
        if isinstance(default, (Incremental, ConfigValue)):
            return default.copy() if isinstance(default, Incremental) else Incremental()
        return given if isinstance(given, Incremental) else None

    def _resolve(self) -> Incremental[Any] | None:
        terms = self._resolve_terms()
        if terms is None:
            return None
        made: Incremental[Any] = Incremental.of(terms.validate())
        if self.declared_cursor is not None and self.declared_cursor is not self._hint_cursor:
            self.declared_cursor.parse_native_representation(made)
        return made

    def _resolve_terms(self) -> CursorOptions | None:
        one = self.parameter
        if one is None or self._user_function is None:
            return self._hint_cursor.terms if self._hint_cursor else None
        given = self._user_function.explicit_args.get(one.name, inspect.Parameter.empty)
        self._check_argument(one, given)
        kind = _annotated_value_type(self._user_function.function, one)
        if self._hint_cursor is not None:
            return _with_value_type(self._hint_cursor.terms, kind)
        terms = self._argument_terms(one, given, kind)
        if terms is not None and terms.cursor_path:
            return terms
        if is_optional(_resolved_annotation(self._user_function.function, one)):
            return None
        raise UsageError(
            f"the incremental {one.name!r} of {self._resource} has no cursor",
            hint=f"pass one, or annotate it as optional: {one.name}: incremental[str] | None = None",
        )

    def _argument_terms(
        self, parameter: inspect.Parameter, value: Any, value_type: Any
    ) -> CursorOptions | None:
        """The default, with what the settings say over it, and the caller over both."""
        is_marker = isinstance(parameter.default, ConfigValue)
        if isinstance(parameter.default, Incremental) or is_marker:
            default = CursorOptions() if is_marker else parameter.default.terms
            known = self._with_settings(parameter.name, _with_value_type(default, value_type))
            if isinstance(value, Incremental):
                return known.merged_with(value.terms)
            return known if value is inspect.Parameter.empty else replace(known, initial_value=value)
        return _with_value_type(value.terms, value_type) if isinstance(value, Incremental) else None

    def _with_settings(self, name: str, terms: CursorOptions) -> CursorOptions:
        plain = terms.effective_type if isinstance(terms.effective_type, type) else None
        question = LookupContext(
            providers=self._settings().providers,
            pipeline_name=scope().pipeline_name,
            sections=Sections(requested=resource_sections(*self._sections), suffix=(name,)),
        )
        wanted = [
            SpecField(name=field, hint=hint or (plain | None if plain else Any), required=False)
            for field, hint in _CURSOR_SETTINGS.items()
        ]
        found = resolve_fields(wanted, question, {}).values
        return replace(terms, **{key: value for key, value in found.items() if value is not None})

    def _check_argument(self, parameter: inspect.Parameter, value: Any) -> None:
        if parameter.default is parameter.empty and value is inspect.Parameter.empty:
            raise ResourceUnbound(resource=self._resource, missing=parameter.name)
        if value is None and isinstance(parameter.default, Incremental):
            raise ConfigFieldMissing(spec=f"{self._resource}()", fields={parameter.name: ("the call: None",)})


def _with_value_type(terms: CursorOptions, value_type: Any) -> CursorOptions:
    return (
        terms if terms.value_type is not None or value_type is Any else replace(terms, value_type=value_type)
    )


def _annotated_value_type(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The type in `incremental[type]` of an annotation, Any where it says none; None for anything else."""
    for arm in union_members(_resolved_annotation(function, parameter)):
        if (get_origin(arm) or arm) is Incremental:
            (kind,) = get_args(arm) or (Any,)
            return kind
    return None


def _resolved_annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The annotation; one that cannot be read says nothing."""
    if parameter.annotation is parameter.empty:
        return None
    inner = inspect.unwrap(function)
    shim = SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        return get_type_hints(shim, globalns=getattr(inner, "__globals__", {}))["it"]
    except (NameError, AttributeError, TypeError):
        return None
