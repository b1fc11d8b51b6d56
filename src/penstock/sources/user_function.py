"""A function and what it is to be called with; what nobody gives comes from configuration."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config import resource_sections
from penstock.errors import ResourceUnbound, UsageError
from penstock.interfaces.work_items import ItemFunction
from penstock.schema.frozen_map import FrozenMap
from penstock.sources.inject import injected_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import BaseConfiguration, Settings

_META = "meta"
_NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIADIC_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFunction:
    """A function of a user; that of a transformer takes an item first."""

    function: Callable[..., Any]
    takes_item: bool = False
    spec: type[BaseConfiguration] | None = None
    explicit_args: Mapping[str, Any] = field(default=FrozenMap[Any]())
    is_bound: bool = False

    @property
    def signature(self) -> inspect.Signature:
        """The arguments that a user binds: without the item, and without its mark."""
        try:
            whole = inspect.signature(self.function)
        except ValueError:  # a builtin that does not say what it takes
            return inspect.Signature()
        parameters = list(whole.parameters.values())
        if self.takes_item:
            if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
                raise UsageError(
                    f"{self.name} takes no item", hint="let the first argument of a transformer be the item"
                )
            is_many = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
            parameters = parameters if is_many else parameters[1:]
            parameters = [one for one in parameters if one.name != _META]
        return whole.replace(parameters=parameters)

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def required_args(self) -> tuple[str, ...]:
        """The arguments that have no default."""
        return tuple(
            name
            for name, one in self.signature.parameters.items()
            if one.default is one.empty and one.kind not in _VARIADIC_KINDS
        )

    def bind(self, *args: Any, **kwargs: Any) -> UserFunction:
        """Copy with arguments; what is missing may still come from configuration."""
        bound = self.signature.bind_partial(*args, **kwargs)
        return replace(self, explicit_args=FrozenMap(bound.arguments), is_bound=True)

    def with_defaults(self) -> dict[str, Any]:
        """The arguments by name, those with a default too."""
        defaults = {name: one.default for name, one in self.signature.parameters.items()}
        return {
            **{n: d for n, d in defaults.items() if d is not inspect.Parameter.empty},
            **self.explicit_args,
        }

    def configured_function(
        self,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
        cursor_arguments: Callable[[], Mapping[str, Any]] = dict,
    ) -> ConfiguredFunction:
        """What extract calls; settings are asked for once, when the first item is.

        `cursor` gives the argument that is an incremental, when the first item is asked for.
        """
        return ConfiguredFunction(
            self, resource=resource, sections=sections, settings=settings, cursor_arguments=cursor_arguments
        )


class ConfiguredFunction:
    """Calls the function of a resource, or that of a transformer with an item and its mark."""

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
        self._user_function, self._resource, self._cursor_arguments = (
            user_function,
            resource,
            cursor_arguments,
        )
        self._sections, self._settings = sections, settings
        self._takes_mark = user_function.takes_item and _has_meta_parameter(user_function.function)
        self._arguments: inspect.BoundArguments | None = None

    def __call__(self, *item_and_mark: Any) -> Any:
        """Call it. The first call asks for the settings."""
        if self._arguments is None:
            self._arguments = self._resolve_arguments()
        if not item_and_mark:
            return self._user_function.function(*self._arguments.args, **self._arguments.kwargs)
        value, mark = item_and_mark
        marked = {_META: mark} if self._takes_mark else {}
        return self._user_function.function(
            value, *self._arguments.args, **{**self._arguments.kwargs, **marked}
        )

    def bound_function(self) -> ItemFunction:
        """The function of a transformer with everything but the item: no argument is left to its default."""
        if self._arguments is None:
            self._arguments = self._resolve_arguments()
        whole = inspect.BoundArguments(self._arguments.signature, OrderedDict(self._arguments.arguments))
        whole.apply_defaults()
        marked = {_META: None} if self._takes_mark else {}
        return ItemFunction(
            function=self._user_function.function, args=whole.args, kwargs={**whole.kwargs, **marked}
        )

    def _resolve_arguments(self) -> inspect.BoundArguments:
        found = injected_arguments(
            self._user_function.function,
            spec=self._user_function.spec,
            explicit={**self._user_function.explicit_args, **self._cursor_arguments()},
            sections=resource_sections(*self._sections),
            settings=self._settings,
        )
        signature = self._user_function.signature
        known = {name: found[name] for name in signature.parameters if name in found}
        missing = [name for name in self._user_function.required_args if name not in known]
        if missing:
            raise ResourceUnbound(resource=self._resource, missing=", ".join(missing))
        return inspect.BoundArguments(signature, OrderedDict(known))


def step_takes_mark(function: Callable[..., Any]) -> bool:
    """Whether a step wants the mark beside the item: its second argument has no default, or is `meta`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return False
    second = [one for one in parameters if one.kind not in _VARIADIC_KINDS][1:2]
    return any(
        one.kind is not inspect.Parameter.KEYWORD_ONLY and (one.default is one.empty or one.name == _META)
        for one in second
    )


def _has_meta_parameter(function: Callable[..., Any]) -> bool:
    try:
        found = inspect.signature(function).parameters.get(_META)
    except ValueError:
        return False
    return found is not None and found.kind in _NAMED_KINDS
