"""Resolution of specs: values for their fields, and where each one comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from penstock.config.coerce import coerce_value, validation_message
from penstock.config.lookup import ConfigLocation, Lookup, LookupResult, Sections
from penstock.config.secret import TSecretValue, as_secret
from penstock.config.specs import (
    BaseConfiguration,
    CredentialsConfiguration,
    SpecField,
    parse_native,
    spec_fields,
)
from penstock.config.type_hints import type_name, union_members
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced
from penstock.redaction import redact, redact_pieces, remember_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.config.providers import ConfigProvider
    from penstock.config.settings import Settings


Spec = TypeVar("Spec", bound=BaseConfiguration)
ValueOrigin = Literal["call", "place", "default", "missing"]
CALL = "the call"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupContext:
    """The providers and sections of a lookup."""

    providers: Sequence[ConfigProvider]
    pipeline_name: str | None = None
    sections: Sections = field(default_factory=Sections)

    def lookup(self, spec_field: SpecField) -> Lookup:
        """Return the lookup of one field."""
        return Lookup(
            key=spec_field.name,
            sections=self.sections,
            pipeline_name=self.pipeline_name,
            hint=spec_field.hint,
            secret=spec_field.secret,
            accepts_tables=spec_field.accepts_tables,
        )

    def single_value_lookup(self, spec: type[BaseConfiguration]) -> Lookup | None:
        """Return the lookup of one native value for all fields; None if the spec has none."""
        if not self.sections.suffix or not (spec.__section__ or hasattr(spec, "parse_native_representation")):
            return None
        secret = issubclass(spec, CredentialsConfiguration)
        return Lookup(
            key=self.sections.suffix[0],
            sections=replace(self.sections, suffix=()),
            pipeline_name=self.pipeline_name,
            hint=TSecretValue if secret else Any,
            secret=secret,
            is_single_value=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldResolution:
    """The result of the lookup of one field."""

    field: str
    origin: ValueOrigin
    location: ConfigLocation | None = None
    tried_locations: tuple[ConfigLocation, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFields:
    """Values by field, and a resolution per field. Fields with their default have no value here."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    resolutions: tuple[FieldResolution, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all required fields have values."""
        return all(answer.origin != "missing" for answer in self.resolutions)


def resolve_spec(
    spec: type[BaseConfiguration],
    context: LookupContext,
    explicit: Any = None,
    *,
    location: ConfigLocation | None = None,
    defaults: BaseConfiguration | None = None,
) -> ResolvedFields:
    """Resolve a spec from an object, a native value, some fields or nothing.

    `location` is the place of `explicit`, None for the call. The values of `defaults` apply to fields
    that are not found.
    """
    lookup = context.single_value_lookup(spec) if _is_empty(explicit) else None
    search = LookupResult() if lookup is None else lookup.find(context.providers)
    native, where = (explicit, location) if search.location is None else (search.value, search.location)
    own = {name: getattr(defaults, name) for name in defaults.model_fields_set} if defaults else {}
    fields = (replace(one, required=one.required and own.get(one.name) is None) for one in spec_fields(spec))
    filled = resolve_fields(fields, context, _native_fields(spec, native, where), location=where)
    answers = filled.resolutions
    if search.tried_locations and not filled.is_complete:
        answers = (
            FieldResolution(field="", origin="missing", tried_locations=search.tried_locations, secret=True),
            *answers,
        )
    return ResolvedFields(values={**own, **filled.values}, resolutions=answers)


def resolve_fields(
    fields: Iterable[SpecField],
    context: LookupContext,
    explicit: Mapping[str, Any],
    *,
    location: ConfigLocation | None = None,
) -> ResolvedFields:
    """Resolve the fields of a spec; `location` is the place of the explicit values, None for the call."""
    values: dict[str, Any] = {}
    answers: list[FieldResolution] = []
    for one in fields:
        fill = _resolve_nested if one.specs else _resolve_value
        filled = fill(one, context, explicit.get(one.name), location)
        values |= filled.values
        answers += filled.resolutions
    return ResolvedFields(values=values, resolutions=tuple(answers))


def build_spec(spec: type[Spec], values: Mapping[str, Any]) -> Spec:
    """Create and validate the instance with these values."""
    optional = {name: None for name, info in spec.model_fields.items() if info.is_required()}
    try:
        made = spec.model_validate({**optional, **values})
    except ValidationError as error:
        raise ConfigValueCannotBeCoerced(
            field="all of it",
            type=spec.__name__,
            place="all places",
            reason=redact(validation_message(error)),
        ) from None
    made.on_resolved()
    return made


def _is_empty(explicit: Any) -> bool:
    return explicit is None or (isinstance(explicit, Mapping) and not explicit)


def _resolve_value(
    spec_field: SpecField, context: LookupContext, explicit: Any, location: ConfigLocation | None
) -> ResolvedFields:
    if explicit is not None:
        answer = FieldResolution(
            field=spec_field.name,
            origin="place" if location else "call",
            location=location,
            secret=spec_field.secret,
        )
        return ResolvedFields(
            values={spec_field.name: _coerce_field(explicit, spec_field, location)}, resolutions=(answer,)
        )
    search = context.lookup(spec_field).find(context.providers) if spec_field.is_looked_up else LookupResult()
    facts: dict[str, Any] = {
        "field": spec_field.name,
        "tried_locations": search.tried_locations,
        "secret": spec_field.secret,
    }
    if search.location is not None:
        value = _coerce_field(search.value, spec_field, search.location)
        return ResolvedFields(
            values={spec_field.name: value},
            resolutions=(FieldResolution(origin="place", location=search.location, **facts),),
        )
    return ResolvedFields(
        resolutions=(FieldResolution(origin="missing" if spec_field.required else "default", **facts),)
    )


def _resolve_nested(
    spec_field: SpecField, context: LookupContext, explicit: Any, location: ConfigLocation | None
) -> ResolvedFields:
    inside = replace(context, sections=context.sections.nested(spec_field.name))
    specs = [type(explicit)] if isinstance(explicit, BaseConfiguration) else spec_field.specs
    tries: list[tuple[type[BaseConfiguration], ResolvedFields]] = []
    refused: ConfigValueCannotBeCoerced | None = None
    for spec in specs:
        try:
            defaults = spec_field.default if isinstance(spec_field.default, spec) else None
            filled = resolve_spec(spec, inside, explicit, location=location, defaults=defaults)
        except ConfigValueCannotBeCoerced as error:
            refused = refused or error
            continue
        if filled.is_complete:
            return _with_prefix(
                spec_field.name, filled, values={spec_field.name: build_spec(spec, filled.values)}
            )
        tries.append((spec, filled))
    return _resolve_without_spec(spec_field, context, explicit, tries, refused)


def _resolve_without_spec(
    spec_field: SpecField,
    context: LookupContext,
    explicit: Any,
    attempts: list[tuple[type[BaseConfiguration], ResolvedFields]],
    coercion_error: ConfigValueCannotBeCoerced | None,
) -> ResolvedFields:
    """Resolve a field that no spec fits: another type, a default, or a missing value."""
    if set(union_members(spec_field.hint)) - set(spec_field.specs):
        plain = _resolve_value(spec_field, context, explicit, None)
        if plain.values:
            return plain
    if coercion_error is not None:
        raise coercion_error
    if not spec_field.required:
        tried = tuple(
            place
            for _, filled in attempts
            for answer in filled.resolutions
            for place in answer.tried_locations
        )
        return ResolvedFields(
            resolutions=(FieldResolution(field=spec_field.name, origin="default", tried_locations=tried),)
        )
    named = len(attempts) > 1
    answers = [
        answer
        for spec, filled in attempts
        for answer in _with_prefix(
            spec_field.name, filled, note=f" ({spec.__name__})" if named else ""
        ).resolutions
    ]
    return ResolvedFields(resolutions=tuple({answer.field: answer for answer in answers}.values()))


def _with_prefix(
    name: str, resolved: ResolvedFields, *, values: Mapping[str, Any] | None = None, note: str = ""
) -> ResolvedFields:
    answers = tuple(
        replace(answer, field=f"{name}.{answer.field}{note}" if answer.field else name)
        for answer in resolved.resolutions
    )
    return ResolvedFields(values=values or {}, resolutions=answers)


def _native_fields(
    spec: type[BaseConfiguration], native: Any, location: ConfigLocation | None
) -> Mapping[str, Any]:
    """Return the fields of a native value; an error does not show the value."""
    text = native if isinstance(native, str) else ""
    if text and issubclass(spec, CredentialsConfiguration):
        remember_secret(text)
    try:
        parts = parse_native(spec, native)
    except ValueError as error:
        raise _coercion_error(spec.__name__, spec, location, redact_pieces(str(error), text)) from None
    unknown = [name for name in parts if name not in spec.model_fields]
    if unknown:
        raise _coercion_error(unknown[0], spec, location, "there is no such field")
    return parts


def _coerce_field(value: Any, spec_field: SpecField, location: ConfigLocation | None) -> Any:
    if spec_field.secret:
        as_secret(value)  # so that messages do not show it
    try:
        return coerce_value(value, spec_field.hint)
    except ValueError as error:
        raise _coercion_error(spec_field.name, spec_field.hint, location, str(error)) from None


def _coercion_error(
    name: str, hint: Any, location: ConfigLocation | None, message: str
) -> ConfigValueCannotBeCoerced:
    return ConfigValueCannotBeCoerced(
        field=name, type=type_name(hint), place=str(location or CALL), reason=redact(message)
    )


NO_VALUES: Mapping[str, Any] = MappingProxyType({})


def resolve_configuration(
    spec: type[Spec] | Spec,
    *,
    settings: Settings,
    sections: tuple[str, ...] = (),
    pipeline_name: str | None = None,
    explicit: Mapping[str, Any] = NO_VALUES,
) -> Spec:
    """Return an instance of `spec` with every field filled; one error names all missing fields.

    `explicit` wins over providers, providers win over defaults. None in `explicit` means unset. If `spec` is
    an instance, its values are the defaults.

    >>> from penstock.config import Settings
    >>> class Api(BaseConfiguration):
    ...     url: str = None
    ...     pages: int = 10
    >>> settings = Settings(environment={"SOURCES__HUB__PAGES": "3"})
    >>> resolve_configuration(Api, settings=settings, sections=("sources", "hub"), explicit={"url": "x"})
    Api(url='x', pages=3)
    """
    kind = spec if isinstance(spec, type) else type(spec)
    question = LookupContext(
        providers=settings.providers,
        pipeline_name=pipeline_name,
        sections=spec_sections(kind, sections),
    )
    filled = resolve_spec(kind, question, explicit, defaults=None if isinstance(spec, type) else spec)
    raise_missing(kind.__name__, filled.resolutions)
    return build_spec(kind, filled.values)


def spec_sections(spec: type[BaseConfiguration], sections: tuple[str, ...]) -> Sections:
    """Return the sections of the fields of a spec."""
    return Sections(requested=sections, suffix=(spec.__section__,) if spec.__section__ else ())


def raise_missing(spec_name: str, resolutions: Iterable[FieldResolution]) -> None:
    """Raise one error for all missing required fields."""
    missing = {
        answer.field or "all of it, as one value": tuple(map(str, answer.tried_locations))
        for answer in resolutions
        if answer.origin == "missing"
    }
    if missing:
        raise ConfigFieldMissing(spec=spec_name, fields=missing)
