"""Explanations of settings: where a value comes from, and all places in lookup order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config.inject import get_fun_spec
from penstock.config.lookup import ConfigLocation, Lookup, Sections
from penstock.config.resolution import LookupContext, spec_sections
from penstock.config.scope import scope
from penstock.config.settings import read_settings
from penstock.config.signature import function_spec
from penstock.config.specs import BaseConfiguration, SpecField, parse_native, spec_fields
from penstock.redaction import MASK, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.config.lookup import LocationValue
    from penstock.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLocation:
    """One place of a lookup: whether it has a value, and whether that value is used."""

    location: ConfigLocation
    has_value: bool = False
    used: bool = False
    misplaced: bool = False

    def __str__(self) -> str:
        note = " (a secret where secrets must not be)" if self.misplaced else ""
        if self.has_value and not self.used:
            note = " (set, but an earlier place wins)"
        return f"{'>' if self.used else ' '} {self.location}{note}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedValue:
    """One value as text without secrets, its origin, and all places in lookup order."""

    field: str
    origin: str
    text: str | None = None
    location: ConfigLocation | None = None
    locations: tuple[ExplainedLocation, ...] = ()

    def __str__(self) -> str:
        value = "" if self.text is None else f" = {self.text}"
        lines = [f"{self.field}{value} ({self.location or self.origin})"]
        return "\n".join([*lines, *(f"  {look}" for look in self.locations)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The result of `explain`; print it."""

    values: tuple[ExplainedValue, ...]

    def __getitem__(self, name: str) -> ExplainedValue:
        for one in self.values:
            if one.field == name:
                return one
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n".join(map(str, self.values))


def explain(
    what: str | type[BaseConfiguration] | Callable[..., Any],
    *,
    settings: Settings | None = None,
    sections: tuple[str, ...] = (),
    pipeline_name: str | None = None,
) -> Explanation:
    """Explain the origin of a value: of a dotted path, a spec's fields, or a function's arguments.

    Nothing is resolved or validated, and secrets are shown as `***`. `>` marks the place whose value is used.

    >>> from penstock.config import Settings
    >>> settings = Settings(environment={"SOURCES__PAGES": "3"}, document={"pages": 7})
    >>> print(explain("sources.hub.pages", settings=settings))
    pages = '3' (environment: SOURCES__PAGES)
        environment: SOURCES__HUB__PAGES
      > environment: SOURCES__PAGES
        environment: PAGES
        secrets.toml: sources.hub.pages
        secrets.toml: sources.pages
        secrets.toml: pages
        config.toml: sources.hub.pages
        config.toml: sources.pages
        config.toml: pages (set, but an earlier place wins)
    """
    question = LookupContext(
        providers=(settings or read_settings()).providers,
        pipeline_name=pipeline_name or scope().pipeline_name,
        sections=Sections(requested=sections or scope().sections),
    )
    if isinstance(what, str):
        *above, key = what.split(".")
        asked = replace(question, sections=Sections(requested=(*sections, *above)))
        one = SpecField(name=key, hint=Any, required=True)
        return Explanation(values=(_explain_lookup(key, asked.lookup(one), asked, one),))
    if isinstance(what, type) and issubclass(what, BaseConfiguration):
        inside = replace(question, sections=spec_sections(what, question.sections.requested))
        return Explanation(values=tuple(_explain_spec("", what, inside)))
    taken = get_fun_spec(what) or function_spec(what)
    return Explanation(values=tuple(_explain_fields("", taken.fields, question, {}, None)))


def _explain_spec(
    prefix: str, spec: type[BaseConfiguration], context: LookupContext
) -> Iterator[ExplainedValue]:
    whole = context.single_value_lookup(spec)
    native: Mapping[str, Any] = {}
    place: ConfigLocation | None = None
    if whole is not None:
        search = whole.find([one for one in context.providers if one.supports_secrets or not whole.secret])
        found = _explain_lookup(prefix or whole.key, whole, context, None)
        place = search.location
        if place is not None:
            try:
                native = parse_native(spec, search.value)
            except ValueError:
                found = replace(found, origin=f"not a value for {spec.__name__}")
        yield found
    yield from _explain_fields(f"{prefix}." if prefix else "", spec_fields(spec), context, native, place)


def _explain_fields(
    prefix: str,
    fields: Iterable[SpecField],
    context: LookupContext,
    native: Mapping[str, Any],
    location: ConfigLocation | None,
) -> Iterator[ExplainedValue]:
    for one in fields:
        name = f"{prefix}{one.name}"
        if one.name in native:
            shown = MASK if one.secret else redact(repr(native[one.name]))
            yield ExplainedValue(field=name, origin="place", text=shown, location=location)
        elif one.specs:
            for spec in one.specs:
                inside = replace(context, sections=context.sections.nested(one.name))
                yield from _explain_spec(name, spec, inside)
        elif one.is_looked_up:
            yield _explain_lookup(name, context.lookup(one), context, one)


def _explain_lookup(
    name: str, lookup: Lookup, context: LookupContext, spec_field: SpecField | None
) -> ExplainedValue:
    seen = tuple(lookup.iter_locations(context.providers))
    winner = next((each for each in seen if _has_value(each, lookup)), None)
    looks = tuple(
        ExplainedLocation(
            location=each.location,
            has_value=_has_value(each, lookup),
            used=each is winner,
            misplaced=each.misplaced,
        )
        for each in seen
    )
    if winner is not None:
        hidden = lookup.is_secret_at(winner.location, context.providers)
        shown = MASK if hidden else redact(repr(winner.value))
        return ExplainedValue(
            field=name, origin="place", text=shown, location=winner.location, locations=looks
        )
    if spec_field is None:
        return ExplainedValue(field=name, origin="not given as one value", locations=looks)
    if spec_field.required:
        return ExplainedValue(field=name, origin="missing", locations=looks)
    shown = MASK if spec_field.secret and spec_field.default is not None else redact(repr(spec_field.default))
    return ExplainedValue(field=name, origin="default", text=shown, locations=looks)


def _has_value(location_value: LocationValue, lookup: Lookup) -> bool:
    return location_value.value is not None and not (
        lookup.is_single_value and isinstance(location_value.value, Mapping)
    )
