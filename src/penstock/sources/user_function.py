"""A user's function with its arguments; missing arguments come from configuration."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config import function_spec, resolve_arguments, resource_sections
from penstock.errors import ResourceUnbound, UsageError
from penstock.interfaces.work_items import ItemFunction
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import BaseConfiguration, Settings

_META = "meta"
_NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIADIC_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFunction:
    """A function of a user with its bound arguments; the function of a transformer takes an item first."""

    function: Callable[..., Any]
    takes_item: bool = False
    spec: type[BaseConfiguration] | None = None
    explicit_args: Mapping[str, Any] = field(default=FrozenMap[Any]())
    is_bound: bool = False

    @property
    def signature(self) -> inspect.Signature:
        """The arguments that a user binds: all but the item and its mark."""
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # a builtin without a signature
            return inspect.Signature()
        parameters = list(signature.parameters.values())
        if self.takes_item:
            if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
                raise UsageError(
                    f"{self.name} takes no item", hint="let the first argument of a transformer be the item"
                )
            is_many = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
            parameters = parameters if is_many else parameters[1:]
            parameters = [parameter for parameter in parameters if parameter.name != _META]
        return signature.replace(parameters=parameters)

    @property
    def name(self) -> str:
        """The name of the function, or of its type."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def required_args(self) -> tuple[str, ...]:
        """The arguments without a default."""
        return tuple(
            name
            for name, parameter in self.signature.parameters.items()
            if parameter.default is parameter.empty and parameter.kind not in _VARIADIC_KINDS
        )

    def bind(self, *args: Any, **kwargs: Any) -> UserFunction:
        """Return a copy with these arguments; missing ones may still come from configuration."""
        bound = self.signature.bind_partial(*args, **kwargs)
        return replace(self, explicit_args=FrozenMap(bound.arguments), is_bound=True)

    def with_defaults(self) -> dict[str, Any]:
        """Return the bound arguments by name, together with the defaults."""
        defaults = {
            name: parameter.default
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not parameter.empty
        }
        return {**defaults, **self.explicit_args}

    def configured_function(
        self,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
        cursor_arguments: Callable[[], Mapping[str, Any]] = dict,
    ) -> ConfiguredFunction:
        """Return the callable for extract. It reads the settings once, at its first call.

        `cursor_arguments` returns the argument that is an incremental, and is called at the same time.
        """
        return ConfiguredFunction(
            self, resource=resource, sections=sections, settings=settings, cursor_arguments=cursor_arguments
        )


class ConfiguredFunction:
    """The function of a resource, or of a transformer, with all its arguments resolved at the first call."""

    __slots__ = (
        "_arguments",
        "_cursor_arguments",
        "_resource",
        "_sections",
        "_settings",
        "_takes_mark",
        "_user_function",
    )

    def __init__(
        self,
        user_function: UserFunction,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
        cursor_arguments: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._user_function, self._resource = user_function, resource
        self._cursor_arguments = cursor_arguments
        self._sections, self._settings = sections, settings
        self._takes_mark = user_function.takes_item and _has_meta_parameter(user_function.function)
        self._arguments: inspect.BoundArguments | None = None

    def __call__(self, *item_and_mark: Any) -> Any:
        """Call the function, for a transformer with an item and its mark."""
        if self._arguments is None:
            self._arguments = self._resolve_arguments()
        if not item_and_mark:
            return self._user_function.function(*self._arguments.args, **self._arguments.kwargs)
        item, mark = item_and_mark
        meta = {_META: mark} if self._takes_mark else {}
        return self._user_function.function(item, *self._arguments.args, **{**self._arguments.kwargs, **meta})

    def bound_function(self) -> ItemFunction:
        """Return the function with all arguments but the item, defaults included."""
        if self._arguments is None:
            self._arguments = self._resolve_arguments()
        arguments = inspect.BoundArguments(self._arguments.signature, OrderedDict(self._arguments.arguments))
        arguments.apply_defaults()
        meta = {_META: None} if self._takes_mark else {}
        return ItemFunction(
            function=self._user_function.function, args=arguments.args, kwargs={**arguments.kwargs, **meta}
        )

    def _resolve_arguments(self) -> inspect.BoundArguments:
        arguments = self._injected_arguments()
        signature = self._user_function.signature
        values = {name: arguments[name] for name in signature.parameters if name in arguments}
        missing = [name for name in self._user_function.required_args if name not in values]
        if missing:
            raise ResourceUnbound(resource=self._resource, missing=", ".join(missing))
        return inspect.BoundArguments(signature, OrderedDict(values))

    def _injected_arguments(self) -> dict[str, Any]:
        """Return the explicit arguments and those that configuration adds."""
        function = self._user_function.function
        explicit = {**self._user_function.explicit_args, **self._cursor_arguments()}
        if not inspect.isroutine(function):
            return explicit
        spec = function_spec(function, spec=self._user_function.spec)
        if not spec.fields:
            return explicit
        sections = resource_sections(*self._sections)
        return {**explicit, **resolve_arguments(spec, explicit, settings=self._settings(), sections=sections)}


def step_takes_mark(function: Callable[..., Any]) -> bool:
    """Return whether a step takes the mark of an item: its second argument has no default, or is `meta`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return False
    second = [parameter for parameter in parameters if parameter.kind not in _VARIADIC_KINDS][1:2]
    return any(
        parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        and (parameter.default is parameter.empty or parameter.name == _META)
        for parameter in second
    )


def _has_meta_parameter(function: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get(_META)
    except ValueError:
        return False
    return parameter is not None and parameter.kind in _NAMED_KINDS
