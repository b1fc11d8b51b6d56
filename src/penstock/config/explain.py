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
        for value in self.values:
            if value.field == name:
                return value
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
    context = LookupContext(
        providers=(settings or read_settings()).providers,
        pipeline_name=pipeline_name or scope().pipeline_name,
        sections=Sections(requested=sections or scope().sections),
    )
    if isinstance(what, str):
        *above, key = what.split(".")
        path_context = replace(context, sections=Sections(requested=(*sections, *above)))
        spec_field = SpecField(name=key, hint=Any, required=True)
        return Explanation(
            values=(_explain_lookup(key, path_context.lookup(spec_field), path_context, spec_field),)
        )
    if isinstance(what, type) and issubclass(what, BaseConfiguration):
        spec_context = replace(context, sections=spec_sections(what, context.sections.requested))
        return Explanation(values=tuple(_explain_spec("", what, spec_context)))
    function = get_fun_spec(what) or function_spec(what)
    return Explanation(values=tuple(_explain_fields("", function.fields, context, {}, None)))


def _explain_spec(
    prefix: str, spec: type[BaseConfiguration], context: LookupContext
) -> Iterator[ExplainedValue]:
    native_lookup = context.single_value_lookup(spec)
    native: Mapping[str, Any] = {}
    location: ConfigLocation | None = None
    if native_lookup is not None:
        search = native_lookup.find(
            [
                provider
                for provider in context.providers
                if provider.supports_secrets or not native_lookup.secret
            ]
        )
        explained = _explain_lookup(prefix or native_lookup.key, native_lookup, context, None)
        location = search.location
        if location is not None:
            try:
                native = parse_native(spec, search.value)
            except ValueError:
                explained = replace(explained, origin=f"not a value for {spec.__name__}")
        yield explained
    yield from _explain_fields(f"{prefix}." if prefix else "", spec_fields(spec), context, native, location)


def _explain_fields(
    prefix: str,
    fields: Iterable[SpecField],
    context: LookupContext,
    native: Mapping[str, Any],
    location: ConfigLocation | None,
) -> Iterator[ExplainedValue]:
    for spec_field in fields:
        name = f"{prefix}{spec_field.name}"
        if spec_field.name in native:
            text = MASK if spec_field.secret else redact(repr(native[spec_field.name]))
            yield ExplainedValue(field=name, origin="place", text=text, location=location)
        elif spec_field.specs:
            for spec in spec_field.specs:
                spec_context = replace(context, sections=context.sections.nested(spec_field.name))
                yield from _explain_spec(name, spec, spec_context)
        elif spec_field.is_looked_up:
            yield _explain_lookup(name, context.lookup(spec_field), context, spec_field)


def _explain_lookup(
    name: str, lookup: Lookup, context: LookupContext, spec_field: SpecField | None
) -> ExplainedValue:
    seen = tuple(lookup.iter_locations(context.providers))
    winner = next((each for each in seen if _has_value(each, lookup)), None)
    locations = tuple(
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
        text = MASK if hidden else redact(repr(winner.value))
        return ExplainedValue(
            field=name, origin="place", text=text, location=winner.location, locations=locations
        )
    if spec_field is None:
        return ExplainedValue(field=name, origin="not given as one value", locations=locations)
    if spec_field.required:
        return ExplainedValue(field=name, origin="missing", locations=locations)
    text = MASK if spec_field.secret and spec_field.default is not None else redact(repr(spec_field.default))
    return ExplainedValue(field=name, origin="default", text=text, locations=locations)


def _has_value(location_value: LocationValue, lookup: Lookup) -> bool:
    return location_value.value is not None and not (
        lookup.is_single_value and isinstance(location_value.value, Mapping)
    )
