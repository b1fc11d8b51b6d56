"""Fills the fields of a spec: what the caller says, then what providers say, then the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from penstock.config.coerce import coerced, reason
from penstock.config.hints import classes_below, is_optional, is_secret
from penstock.config.lookup import Search, Sections, search
from penstock.config.specs import BaseConfiguration, CredentialsConfiguration, NotResolved
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from penstock.config.settings import Settings

Spec = TypeVar("Spec", bound=BaseConfiguration)
NOTHING: Mapping[str, Any] = MappingProxyType({})


def resolve_configuration(
    spec: type[Spec],
    *,
    settings: Settings,
    sections: tuple[str, ...] = (),
    pipeline_name: str | None = None,
    explicit: Mapping[str, Any] = NOTHING,
) -> Spec:
    """An instance of `spec` with every field filled; one error names all fields that were not found.

    `explicit` wins over providers, and providers win over defaults. None in `explicit` means: not said.

    >>> from penstock.config import Settings
    >>> class Api(BaseConfiguration):
    ...     url: str = None
    ...     pages: int = 10
    >>> settings = Settings(environment={"SOURCES__HUB__PAGES": "3"})
    >>> resolve_configuration(Api, settings=settings, sections=("sources", "hub"), explicit={"url": "x"})
    Api(url='x', pages=3)
    """
    asked = _Asked(
        settings=settings,
        pipeline_name=pipeline_name,
        sections=Sections(asked=sections, kept=(spec.__section__,) if spec.__section__ else ()),
    )
    found = _whole(spec, asked, explicit) if spec.__section__ else _fields(spec, asked, explicit)
    if found.missing:
        raise ConfigFieldMissing(
            spec=spec.__name__,
            fields={name: tuple(str(place) for place in look.tried) for name, look in found.missing.items()},
        )
    return _built(spec, found.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a lookup needs besides the field."""

    settings: Settings
    pipeline_name: str | None
    sections: Sections

    def look(self, key: str, hint: Any, *, secret: bool, tables: bool = True) -> Search:
        return search(
            key,
            providers=self.settings.providers,
            sections=self.sections,
            pipeline_name=self.pipeline_name,
            hint=hint,
            secret=secret,
            tables=tables,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Values of the fields, and where the missing ones were looked for."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    missing: Mapping[str, Search] = field(default_factory=dict)


def _fields(spec: type[BaseConfiguration], asked: _Asked, explicit: Mapping[str, Any]) -> _Found:
    values: dict[str, Any] = {}
    missing: dict[str, Search] = {}
    unknown = [name for name in explicit if name not in spec.model_fields]
    if unknown:
        raise ConfigValueCannotBeCoerced(
            field=unknown[0], type=spec.__name__, place="the call", reason="there is no such field"
        )
    for name, info in spec.model_fields.items():
        hint = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        specs = classes_below(hint, BaseConfiguration)
        given = explicit.get(name)
        if specs and not isinstance(given, BaseConfiguration):
            found = _nested(name, info, specs, asked, given)
        else:
            found = _single(name, info, hint, asked, given)
        values |= found.values
        missing |= found.missing
    return _Found(values=values, missing=missing)


def _single(name: str, info: FieldInfo, hint: Any, asked: _Asked, given: Any) -> _Found:
    if given is not None:
        return _Found(values={name: _coerced(given, hint, name, "the call")})
    if any(isinstance(mark, NotResolved) or mark is NotResolved for mark in info.metadata):
        look = Search(tried=())
    else:
        look = asked.look(name, hint, secret=is_secret(hint))
    if look.place is not None:
        return _Found(values={name: _coerced(look.value, hint, name, str(look.place))})
    return _Found(missing={name: look}) if _must_be_found(info) else _Found()


def _nested(name: str, info: FieldInfo, specs: tuple[type[Any], ...], asked: _Asked, given: Any) -> _Found:
    inside = replace(asked, sections=asked.sections.inside(name))
    tries = [_whole(spec, inside, given) for spec in specs]
    for spec, found in zip(specs, tries, strict=True):
        if not found.missing:
            return _Found(values={name: _built(spec, found.values)})
    if not _must_be_found(info):
        return _Found()
    return _Found(missing={f"{name}.{key}": look for key, look in tries[0].missing.items()})


def _whole(spec: type[BaseConfiguration], asked: _Asked, given: Any) -> _Found:
    """A spec that may also be given as one value: an object, JSON text or a native text."""
    native, place = given, "the call"
    if not native and asked.sections.kept and spec.__section__:
        above = replace(asked.sections, kept=())
        secret = issubclass(spec, CredentialsConfiguration)
        look = replace(asked, sections=above).look(asked.sections.kept[0], Any, secret=secret, tables=False)
        if look.place is not None:
            native, place = look.value, str(look.place)
    return _fields(spec, asked, _taken_apart(spec, native, place) if native else NOTHING)


def _taken_apart(spec: type[BaseConfiguration], native: Any, place: str) -> Mapping[str, Any]:
    if isinstance(native, Mapping):
        return native
    if isinstance(native, str) and native.lstrip().startswith("{"):
        return dict(_coerced(native, dict[str, Any], spec.__name__, place))
    parse = getattr(spec, "parse_native_representation", None)
    if parse is None:
        raise ConfigValueCannotBeCoerced(
            field=spec.__name__, type=spec.__name__, place=place, reason="it is not an object"
        )
    blank = {name: info.get_default(call_default_factory=True) for name, info in spec.model_fields.items()}
    before = {name: None if value is PydanticUndefined else value for name, value in blank.items()}
    part = spec.model_construct(**before)
    try:
        part.parse_native_representation(native)  # type: ignore[attr-defined]
    except ValueError as error:
        raise ConfigValueCannotBeCoerced(
            field=spec.__name__, type=spec.__name__, place=place, reason=str(error)
        ) from None
    return {name: value for name, value in part.__dict__.items() if value != before[name]}


def _must_be_found(info: FieldInfo) -> bool:
    if info.is_required():
        return not is_optional(info.annotation)
    return info.default is None and info.default_factory is None and not is_optional(info.annotation)


def _coerced(value: Any, hint: Any, name: str, place: str) -> Any:
    try:
        return coerced(value, hint)
    except ValueError as error:
        raise ConfigValueCannotBeCoerced(
            field=name, type=_said(hint), place=place, reason=str(error)
        ) from None


def _built(spec: type[Spec], values: Mapping[str, Any]) -> Spec:
    optional = {name: None for name, info in spec.model_fields.items() if info.is_required()}
    try:
        made = spec.model_validate({**optional, **values})
    except ValidationError as error:
        raise ConfigValueCannotBeCoerced(
            field=spec.__name__, type=spec.__name__, place="all places", reason=reason(error)
        ) from None
    made.on_resolved()
    return made


def _said(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
