"""Fills the fields of a spec: what the caller says, then what providers say, then the defaults."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.config.lookup import Sections
from penstock.config.resolution import LookupContext, build_spec, resolve_spec
from penstock.config.specs import BaseConfiguration
from penstock.errors import ConfigFieldMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.config.resolution import FieldResolution
    from penstock.config.settings import Settings

Spec = TypeVar("Spec", bound=BaseConfiguration)
NO_VALUES: Mapping[str, Any] = MappingProxyType({})


def resolve_configuration(
    spec: type[Spec] | Spec,
    *,
    settings: Settings,
    sections: tuple[str, ...] = (),
    pipeline_name: str | None = None,
    explicit: Mapping[str, Any] = NO_VALUES,
) -> Spec:
    """An instance of `spec` with every field filled; one error names all fields that were not found.

    `explicit` wins over providers, and providers win over defaults. None in `explicit` means: not said. The
    values of an instance that is given as `spec` are defaults.

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
    """Where the fields of a spec are, if it is asked for in these sections."""
    return Sections(requested=sections, suffix=(spec.__section__,) if spec.__section__ else ())


def raise_missing(spec_name: str, resolutions: Iterable[FieldResolution]) -> None:
    """Raise one error for all required fields that were not found."""
    missing = {
        answer.field or "all of it, as one value": tuple(map(str, answer.tried_locations))
        for answer in resolutions
        if answer.origin == "missing"
    }
    if missing:
        raise ConfigFieldMissing(spec=spec_name, fields=missing)
