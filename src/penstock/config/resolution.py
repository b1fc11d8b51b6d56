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
        return all(resolution.origin != "missing" for resolution in self.resolutions)


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
    result = LookupResult() if lookup is None else lookup.find(context.providers)
    native, value_location = (
        (explicit, location) if result.location is None else (result.value, result.location)
    )
    default_values = {name: getattr(defaults, name) for name in defaults.model_fields_set} if defaults else {}
    fields = (
        replace(spec_field, required=spec_field.required and default_values.get(spec_field.name) is None)
        for spec_field in spec_fields(spec)
    )
    resolved = resolve_fields(
        fields, context, _native_fields(spec, native, value_location), location=value_location
    )
    resolved = _complete(spec, default_values, resolved)
    resolutions = resolved.resolutions
    if result.tried_locations and not resolved.is_complete:
        resolutions = (
            FieldResolution(field="", origin="missing", tried_locations=result.tried_locations, secret=True),
            *resolutions,
        )
    return ResolvedFields(values={**default_values, **resolved.values}, resolutions=resolutions)


def _complete(
    spec: type[BaseConfiguration], default_values: Mapping[str, Any], resolved: ResolvedFields
) -> ResolvedFields:
    """Let the spec set fields that no provider has, if it overrides `on_partial`."""
    if resolved.is_complete or spec.on_partial is BaseConfiguration.on_partial:
        return resolved
    unset = {spec_field.name: spec_field.default for spec_field in spec_fields(spec)}
    before = {**unset, **default_values, **resolved.values}
    partial = spec.model_construct(**before)
    is_complete = bool(partial.on_partial())
    changed = {name: value for name in before if (value := getattr(partial, name)) != before[name]}
    resolutions = tuple(
        replace(resolution, origin="default")
        if resolution.origin == "missing" and (is_complete or resolution.field in changed)
        else resolution
        for resolution in resolved.resolutions
    )
    return ResolvedFields(values={**resolved.values, **changed}, resolutions=resolutions)


def resolve_fields(
    fields: Iterable[SpecField],
    context: LookupContext,
    explicit: Mapping[str, Any],
    *,
    location: ConfigLocation | None = None,
) -> ResolvedFields:
    """Resolve the fields of a spec; `location` is the place of the explicit values, None for the call."""
    values: dict[str, Any] = {}
    resolutions: list[FieldResolution] = []
    for spec_field in fields:
        resolve = _resolve_nested if spec_field.specs else _resolve_value
        resolved = resolve(spec_field, context, explicit.get(spec_field.name), location)
        values |= resolved.values
        resolutions += resolved.resolutions
    return ResolvedFields(values=values, resolutions=tuple(resolutions))


def build_spec(spec: type[Spec], values: Mapping[str, Any]) -> Spec:
    """Create and validate the instance with these values."""
    optional = {name: None for name, info in spec.model_fields.items() if info.is_required()}
    try:
        instance = spec.model_validate({**optional, **values})
    except ValidationError as error:
        raise ConfigValueCannotBeCoerced(
            field="all of it",
            type=spec.__name__,
            place="all places",
            reason=redact(validation_message(error)),
        ) from None
    instance.on_resolved()
    return instance


def _is_empty(explicit: Any) -> bool:
    return explicit is None or (isinstance(explicit, Mapping) and not explicit)


def _resolve_value(
    spec_field: SpecField, context: LookupContext, explicit: Any, location: ConfigLocation | None
) -> ResolvedFields:
    if explicit is not None:
        resolution = FieldResolution(
            field=spec_field.name,
            origin="place" if location else "call",
            location=location,
            secret=spec_field.secret,
        )
        return ResolvedFields(
            values={spec_field.name: _coerce_field(explicit, spec_field, location)}, resolutions=(resolution,)
        )
    result = context.lookup(spec_field).find(context.providers) if spec_field.is_looked_up else LookupResult()
    facts: dict[str, Any] = {
        "field": spec_field.name,
        "tried_locations": result.tried_locations,
        "secret": spec_field.secret,
    }
    if result.location is not None:
        value = _coerce_field(result.value, spec_field, result.location)
        return ResolvedFields(
            values={spec_field.name: value},
            resolutions=(FieldResolution(origin="place", location=result.location, **facts),),
        )
    return ResolvedFields(
        resolutions=(FieldResolution(origin="missing" if spec_field.required else "default", **facts),)
    )


def _resolve_nested(
    spec_field: SpecField, context: LookupContext, explicit: Any, location: ConfigLocation | None
) -> ResolvedFields:
    nested_context = replace(context, sections=context.sections.nested(spec_field.name))
    specs = [type(explicit)] if isinstance(explicit, BaseConfiguration) else spec_field.specs
    attempts: list[tuple[type[BaseConfiguration], ResolvedFields]] = []
    refused: ConfigValueCannotBeCoerced | None = None
    for spec in specs:
        try:
            defaults = spec_field.default if isinstance(spec_field.default, spec) else None
            resolved = resolve_spec(spec, nested_context, explicit, location=location, defaults=defaults)
        except ConfigValueCannotBeCoerced as error:
            refused = refused or error
            continue
        if resolved.is_complete:
            return _with_prefix(
                spec_field.name, resolved, values={spec_field.name: build_spec(spec, resolved.values)}
            )
        attempts.append((spec, resolved))
    return _resolve_without_spec(spec_field, context, explicit, attempts, refused)


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
            location
            for _, resolved in attempts
            for resolution in resolved.resolutions
            for location in resolution.tried_locations
        )
        return ResolvedFields(
            resolutions=(FieldResolution(field=spec_field.name, origin="default", tried_locations=tried),)
        )
    named = len(attempts) > 1
    resolutions = [
        resolution
        for spec, resolved in attempts
        for resolution in _with_prefix(
            spec_field.name, resolved, note=f" ({spec.__name__})" if named else ""
        ).resolutions
    ]
    return ResolvedFields(
        resolutions=tuple({resolution.field: resolution for resolution in resolutions}.values())
    )


def _with_prefix(
    name: str, resolved: ResolvedFields, *, values: Mapping[str, Any] | None = None, note: str = ""
) -> ResolvedFields:
    resolutions = tuple(
        replace(resolution, field=f"{name}.{resolution.field}{note}" if resolution.field else name)
        for resolution in resolved.resolutions
    )
    return ResolvedFields(values=values or {}, resolutions=resolutions)


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
        raise _coercion_error(unknown[0], spec, location, "unknown field")
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
    context = LookupContext(
        providers=settings.providers,
        pipeline_name=pipeline_name,
        sections=spec_sections(kind, sections),
    )
    resolved = resolve_spec(kind, context, explicit, defaults=None if isinstance(spec, type) else spec)
    raise_missing(kind.__name__, resolved.resolutions)
    return build_spec(kind, resolved.values)


def spec_sections(spec: type[BaseConfiguration], sections: tuple[str, ...]) -> Sections:
    """Return the sections of the fields of a spec."""
    return Sections(requested=sections, suffix=(spec.__section__,) if spec.__section__ else ())


def raise_missing(spec_name: str, resolutions: Iterable[FieldResolution]) -> None:
    """Raise one error for all missing required fields."""
    missing = {
        resolution.field or "all of it, as one value": tuple(map(str, resolution.tried_locations))
        for resolution in resolutions
        if resolution.origin == "missing"
    }
    if missing:
        raise ConfigFieldMissing(spec=spec_name, fields=missing)
