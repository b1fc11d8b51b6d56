"""A function and what it is to be called with; what nobody gives comes from configuration."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config import resource_sections
from penstock.errors import ResourceUnbound, UsageError
from penstock.interfaces.work import Bound
from penstock.schema.frozen import FrozenMap
from penstock.sources.inject import injected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import BaseConfiguration, Settings

_MARK = "meta"
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function of a user; that of a transformer takes an item first."""

    function: Callable[..., Any]
    takes_item: bool = False
    spec: type[BaseConfiguration] | None = None
    given: Mapping[str, Any] = field(default=FrozenMap[Any]())
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
            parameters = [one for one in parameters if one.name != _MARK]
        return whole.replace(parameters=parameters)

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def needed(self) -> tuple[str, ...]:
        """The arguments that have no default."""
        return tuple(
            name
            for name, one in self.signature.parameters.items()
            if one.default is one.empty and one.kind not in _MANY
        )

    def bind(self, *args: Any, **kwargs: Any) -> Call:
        """Copy with arguments; what is missing may still come from configuration."""
        bound = self.signature.bind_partial(*args, **kwargs)
        return replace(self, given=FrozenMap(bound.arguments), is_bound=True)

    def with_defaults(self) -> dict[str, Any]:
        """The arguments by name, those with a default too."""
        defaults = {name: one.default for name, one in self.signature.parameters.items()}
        return {**{n: d for n, d in defaults.items() if d is not inspect.Parameter.empty}, **self.given}

    def opener(
        self,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
        cursor: Callable[[], Mapping[str, Any]] = dict,
    ) -> Opener:
        """What extract calls; settings are asked for once, when the first item is.

        `cursor` gives the argument that is an incremental, when the first item is asked for.
        """
        return Opener(self, resource=resource, sections=sections, settings=settings, cursor=cursor)


class Opener:
    """Calls the function of a resource, or that of a transformer with an item and its mark."""

    __slots__ = ("_call", "_cursor", "_filled", "_resource", "_sections", "_settings", "_takes_mark")

    def __init__(
        self,
        call: Call,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
        cursor: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._call, self._resource, self._cursor = call, resource, cursor
        self._sections, self._settings = sections, settings
        self._takes_mark = call.takes_item and _takes_mark(call.function)
        self._filled: inspect.BoundArguments | None = None

    def __call__(self, *item: Any) -> Any:
        """Call it. The first call asks for the settings."""
        if self._filled is None:
            self._filled = self._fill()
        if not item:
            return self._call.function(*self._filled.args, **self._filled.kwargs)
        value, mark = item
        marked = {_MARK: mark} if self._takes_mark else {}
        return self._call.function(value, *self._filled.args, **{**self._filled.kwargs, **marked})

    def bound(self) -> Bound:
        """The function of a transformer with everything but the item: no argument is left to its default."""
        if self._filled is None:
            self._filled = self._fill()
        whole = inspect.BoundArguments(self._filled.signature, OrderedDict(self._filled.arguments))
        whole.apply_defaults()
        marked = {_MARK: None} if self._takes_mark else {}
        return Bound(function=self._call.function, args=whole.args, kwargs={**whole.kwargs, **marked})

    def _fill(self) -> inspect.BoundArguments:
        found = injected(
            self._call.function,
            spec=self._call.spec,
            given={**self._call.given, **self._cursor()},
            sections=resource_sections(*self._sections),
            settings=self._settings,
        )
        signature = self._call.signature
        known = {name: found[name] for name in signature.parameters if name in found}
        missing = [name for name in self._call.needed if name not in known]
        if missing:
            raise ResourceUnbound(resource=self._resource, missing=", ".join(missing))
        return inspect.BoundArguments(signature, OrderedDict(known))


def takes_mark(function: Callable[..., Any]) -> bool:
    """Whether a step wants the mark beside the item: its second argument has no default, or is `meta`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return False
    second = [one for one in parameters if one.kind not in _MANY][1:2]
    return any(
        one.kind is not inspect.Parameter.KEYWORD_ONLY and (one.default is one.empty or one.name == _MARK)
        for one in second
    )


def _takes_mark(function: Callable[..., Any]) -> bool:
    try:
        found = inspect.signature(function).parameters.get(_MARK)
    except ValueError:
        return False
    return found is not None and found.kind in _BY_NAME
