"""Which cursor a resource has: by hint, or as an argument of its function, with what the settings add."""

from __future__ import annotations

import inspect
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

from penstock.config import ConfigValue, resource_sections, scope
from penstock.config.fields import SpecField
from penstock.config.fill import Question, fill_fields
from penstock.config.hints import arms, is_optional
from penstock.config.lookup import Sections
from penstock.errors import ConfigFieldMissing, ResourceUnbound, UsageError
from penstock.interfaces.cursorterms import CursorTerms
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import Settings
    from penstock.interfaces.hints import TableHints
    from penstock.sources.call import Call

# Fields that a file or a variable can say, with their types; those of values are the cursor's own.
_SETTINGS: Final[Mapping[str, Any]] = {
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


def own_cursor() -> Incremental[Any] | None:
    """What stands in the steps of a resource for its own cursor, until it is read."""
    return None


OWN: Final = Step(kind="incremental", function=own_cursor)
"""The place of the resource's own cursor among its steps."""


def cursor_step(incremental: Incremental[Any]) -> Step:
    """A step that is a cursor of its own, beside the one of the resource."""
    return Step(kind="incremental", function=incremental.copy)


def is_cursor(step: Step) -> bool:
    """Whether a step is a cursor: those stand at the end, unless they were put elsewhere."""
    return step.kind == "incremental"


def with_cursors(steps: tuple[Step, ...], own: OwnCursor, *, key: Any) -> tuple[Step, ...]:
    """Steps as they are read: with the own cursor in its place, and the key of the resource for the first."""
    found = tuple(replace(one, function=own) if one is OWN else one for one in steps)
    first = next((one for one in found if is_cursor(one)), None)
    if first is None or not key:
        return found

    def keyed() -> Incremental[Any] | None:
        cursor: Incremental[Any] | None = first.function()
        if cursor is not None:
            cursor.use_key(key)
        return cursor

    return tuple(replace(one, function=keyed) if one is first else one for one in found)


def cursor_parameter(call: Call) -> inspect.Parameter | None:
    """The argument that takes the cursor: the first with one as default, or annotated with one."""
    for one in call.signature.parameters.values():
        if isinstance(one.default, Incremental) or _annotated(call.function, one) is not None:
            return one
    return None


class OwnCursor:
    """The cursor of one resource, made when it is first asked for; the function and its steps share it."""

    def __init__(
        self,
        call: Call | None,
        hints: TableHints,
        *,
        resource: str,
        sections: tuple[str, ...],
        settings: Callable[[], Settings],
    ) -> None:
        self._call, self._resource = call, resource
        self._hint: Incremental[Any] | None = hints.incremental
        self._sections, self._settings = sections, settings
        self.parameter = cursor_parameter(call) if call else None
        self._made: tuple[Incremental[Any] | None] | None = None
        self.declared = self._declared()
        """The cursor as a hint of the table; what the settings say of it is added when it is made."""

    def __call__(self) -> Incremental[Any] | None:
        """The cursor; None where an optional argument got none."""
        if self._made is None:
            self._made = (self._make(),)
        return self._made[0]

    def _declared(self) -> Incremental[Any] | None:
        if self._hint is not None or self.parameter is None or self._call is None:
            return self._hint
        given, default = self._call.given.get(self.parameter.name), self.parameter.default
        if isinstance(default, (Incremental, ConfigValue)):
            return default.copy() if isinstance(default, Incremental) else Incremental()
        return given if isinstance(given, Incremental) else None

    def _make(self) -> Incremental[Any] | None:
        terms = self._terms()
        if terms is None:
            return None
        made: Incremental[Any] = Incremental.of(terms.checked())
        if self.declared is not None and self.declared is not self._hint:
            self.declared.parse_native_representation(made)
        return made

    def _terms(self) -> CursorTerms | None:
        one = self.parameter
        if one is None or self._call is None:
            return self._hint.terms if self._hint else None
        given = self._call.given.get(one.name, inspect.Parameter.empty)
        self._refuse_nothing(one, given)
        kind = _annotated(self._call.function, one)
        if self._hint is not None:
            return _with_kind(self._hint.terms, kind)
        terms = self._said(one, given, kind)
        if terms is not None and terms.cursor_path:
            return terms
        if is_optional(_hint(self._call.function, one)):
            return None
        raise UsageError(
            f"the incremental {one.name!r} of {self._resource} has no cursor",
            hint=f"pass one, or annotate it as optional: {one.name}: incremental[str] | None = None",
        )

    def _said(self, one: inspect.Parameter, given: Any, kind: Any) -> CursorTerms | None:
        """The default, with what the settings say over it, and the caller over both."""
        is_marker = isinstance(one.default, ConfigValue)
        if isinstance(one.default, Incremental) or is_marker:
            default = CursorTerms() if is_marker else one.default.terms
            known = self._with_settings(one.name, _with_kind(default, kind))
            if isinstance(given, Incremental):
                return known.over(given.terms)
            return known if given is inspect.Parameter.empty else replace(known, initial_value=given)
        return _with_kind(given.terms, kind) if isinstance(given, Incremental) else None

    def _with_settings(self, name: str, terms: CursorTerms) -> CursorTerms:
        plain = terms.kind if isinstance(terms.kind, type) else None
        question = Question(
            providers=self._settings().providers,
            pipeline_name=scope().pipeline_name,
            sections=Sections(asked=resource_sections(*self._sections), kept=(name,)),
        )
        wanted = [
            SpecField(name=field, hint=hint or (plain | None if plain else Any), required=False)
            for field, hint in _SETTINGS.items()
        ]
        found = fill_fields(wanted, question, {}).values
        return replace(terms, **{key: value for key, value in found.items() if value is not None})

    def _refuse_nothing(self, one: inspect.Parameter, given: Any) -> None:
        if one.default is one.empty and given is inspect.Parameter.empty:
            raise ResourceUnbound(resource=self._resource, missing=one.name)
        if given is None and isinstance(one.default, Incremental):
            raise ConfigFieldMissing(spec=f"{self._resource}()", fields={one.name: ("the call: None",)})


def _with_kind(terms: CursorTerms, kind: Any) -> CursorTerms:
    return terms if terms.value_type is not None or kind is Any else replace(terms, value_type=kind)


def _annotated(function: Callable[..., Any], one: inspect.Parameter) -> Any:
    """The type in `incremental[type]` of an annotation, Any where it says none; None for anything else."""
    for arm in arms(_hint(function, one)):
        if (get_origin(arm) or arm) is Incremental:
            (kind,) = get_args(arm) or (Any,)
            return kind
    return None


def _hint(function: Callable[..., Any], one: inspect.Parameter) -> Any:
    """The annotation; one that cannot be read says nothing."""
    if one.annotation is one.empty:
        return None
    inner = inspect.unwrap(function)
    shim = SimpleNamespace(__annotations__={"it": one.annotation})
    try:
        return get_type_hints(shim, globalns=getattr(inner, "__globals__", {}))["it"]
    except (NameError, AttributeError, TypeError):
        return None
