"""The cursor of a resource: from a hint or an argument of its function, completed by settings."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

from penstock.config import ConfigValue, resource_sections, scope
from penstock.config.lookup import Sections
from penstock.config.resolution import LookupContext, resolve_fields
from penstock.config.specs import SpecField
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

# Fields that settings can set, with their types; None stands for the type of the cursor's values.
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
    """Return None; marks the step of the resource's own cursor until the resource is read."""
    return None


CURSOR_PLACEHOLDER: Final = ItemStep(kind="incremental", function=placeholder_cursor)
"""The position of the resource's own cursor among its steps."""


def cursor_step(incremental: Incremental[Any]) -> ItemStep:
    """Return a step with a separate cursor, beside the resource's own."""
    return ItemStep(kind="incremental", function=incremental.copy)


def is_cursor_step(step: ItemStep) -> bool:
    """Return whether a step is a cursor; by default cursors come last."""
    return step.kind == "incremental"


def steps_with_cursor(
    steps: tuple[ItemStep, ...], resource_cursor: ResourceCursor, *, key: Any
) -> tuple[ItemStep, ...]:
    """Return the steps with the resource's own cursor inserted and its key set on the first cursor."""
    resolved = tuple(
        replace(step, function=resource_cursor) if step is CURSOR_PLACEHOLDER else step for step in steps
    )
    first = next((step for step in resolved if is_cursor_step(step)), None)
    if first is None or not key:
        return resolved

    def keyed() -> Incremental[Any] | None:
        cursor: Incremental[Any] | None = first.function()
        if cursor is not None:
            cursor.use_key(key)
        return cursor

    return tuple(replace(step, function=keyed) if step is first else step for step in resolved)


def cursor_parameter(user_function: UserFunction) -> inspect.Parameter | None:
    """Return the first argument whose default or annotation is a cursor."""
    for parameter in user_function.signature.parameters.values():
        if (
            isinstance(parameter.default, Incremental)
            or _annotated_value_type(user_function.function, parameter) is not None
        ):
            return parameter
    return None


class ResourceCursor:
    """The cursor of one resource, created at first use and shared by its function and its steps."""

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
        """The cursor as a hint of the table; settings are added when the cursor is created."""

    def __call__(self) -> Incremental[Any] | None:
        """Return the cursor; None when an optional argument has none."""
        if self._cursor_cache is None:
            self._cursor_cache = (self._resolve(),)
        return self._cursor_cache[0]

    def _find_declared_cursor(self) -> Incremental[Any] | None:
        if self._hint_cursor is not None or self.parameter is None or self._user_function is None:
            return self._hint_cursor
        argument = self._user_function.explicit_args.get(self.parameter.name)
        default = self.parameter.default
        if isinstance(default, (Incremental, ConfigValue)):
            return default.copy() if isinstance(default, Incremental) else Incremental()
        return argument if isinstance(argument, Incremental) else None

    def _resolve(self) -> Incremental[Any] | None:
        options = self._resolve_options()
        if options is None:
            return None
        cursor: Incremental[Any] = Incremental.of(options.validate())
        if self.declared_cursor is not None and self.declared_cursor is not self._hint_cursor:
            self.declared_cursor.parse_native_representation(cursor)
        return cursor

    def _resolve_options(self) -> CursorOptions | None:
        parameter = self.parameter
        if parameter is None or self._user_function is None:
            return self._hint_cursor.terms if self._hint_cursor else None
        argument = self._user_function.explicit_args.get(parameter.name, inspect.Parameter.empty)
        self._check_argument(parameter, argument)
        value_type = _annotated_value_type(self._user_function.function, parameter)
        if self._hint_cursor is not None:
            return _with_value_type(self._hint_cursor.terms, value_type)
        options = self._argument_options(parameter, argument, value_type)
        if options is not None and options.cursor_path:
            return options
        if is_optional(_resolved_annotation(self._user_function.function, parameter)):
            return None
        raise UsageError(
            f"the incremental {parameter.name!r} of {self._resource} has no cursor",
            hint=f"pass one, or annotate it as optional: {parameter.name}: incremental[str] | None = None",
        )

    def _argument_options(
        self, parameter: inspect.Parameter, argument: Any, value_type: Any
    ) -> CursorOptions | None:
        """Return the default, overridden by settings and then by the argument of the call."""
        is_marker = isinstance(parameter.default, ConfigValue)
        if isinstance(parameter.default, Incremental) or is_marker:
            default = CursorOptions() if is_marker else parameter.default.terms
            options = self._with_settings(parameter.name, _with_value_type(default, value_type))
            if isinstance(argument, Incremental):
                return options.merged_with(argument.terms)
            return (
                options if argument is inspect.Parameter.empty else replace(options, initial_value=argument)
            )
        return _with_value_type(argument.terms, value_type) if isinstance(argument, Incremental) else None

    def _with_settings(self, name: str, options: CursorOptions) -> CursorOptions:
        value_type = options.effective_type if isinstance(options.effective_type, type) else None
        context = LookupContext(
            providers=self._settings().providers,
            pipeline_name=scope().pipeline_name,
            sections=Sections(requested=resource_sections(*self._sections), suffix=(name,)),
        )
        fields = [
            SpecField(name=field, hint=hint or (value_type | None if value_type else Any), required=False)
            for field, hint in _CURSOR_SETTINGS.items()
        ]
        values = resolve_fields(fields, context, {}).values
        return replace(options, **{key: value for key, value in values.items() if value is not None})

    def _check_argument(self, parameter: inspect.Parameter, argument: Any) -> None:
        if parameter.default is parameter.empty and argument is inspect.Parameter.empty:
            raise ResourceUnbound(resource=self._resource, missing=parameter.name)
        if argument is None and isinstance(parameter.default, Incremental):
            raise ConfigFieldMissing(spec=f"{self._resource}()", fields={parameter.name: ("the call: None",)})


def _with_value_type(options: CursorOptions, value_type: Any) -> CursorOptions:
    if options.value_type is not None or value_type is Any:
        return options
    return replace(options, value_type=value_type)


def _annotated_value_type(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the type of an annotation `incremental[type]`, Any for a bare one, None for any other."""
    for member in union_members(_resolved_annotation(function, parameter)):
        if (get_origin(member) or member) is Incremental:
            (value_type,) = get_args(member) or (Any,)
            return value_type
    return None


def _resolved_annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotation of a parameter; None for one that cannot be resolved."""
    if parameter.annotation is parameter.empty:
        return None
    inner = inspect.unwrap(function)
    holder = SimpleNamespace(__annotations__={"annotation": parameter.annotation})
    try:
        return get_type_hints(holder, globalns=getattr(inner, "__globals__", {}))["annotation"]
    except (NameError, AttributeError, TypeError):
        return None
