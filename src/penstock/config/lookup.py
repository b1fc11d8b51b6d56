"""Lookups of settings: the order of places, and the first value."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config.providers import EnvironmentProvider, query_provider
from penstock.config.scope import scope
from penstock.errors import ValueNotSecret
from penstock.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.config.providers import ConfigProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigLocation:
    """A place of a lookup: a provider and the full key of the value."""

    provider: str
    key: str

    def __str__(self) -> str:
        return f"{self.provider}: {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupResult:
    """The places of a lookup, and the value that was found."""

    tried_locations: tuple[ConfigLocation, ...] = ()
    location: ConfigLocation | None = None
    value: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of a lookup: requested, and added by specs. `prefix` and `suffix` are never dropped."""

    prefix: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()

    def nested(self, name: str) -> Sections:
        """Return the sections of a spec in the field `name` of another spec; `_name` adds none."""
        if name.startswith("_"):
            return self
        return replace(self, added=(*self.added, *self.suffix), suffix=(name,))

    def candidates(self) -> Iterator[tuple[str, ...]]:
        """Yield all sections first, then fewer and fewer, dropped from the right.

        The third is the short form of a source: its name without its section (module).

        >>> for sections in Sections(requested=("sources", "hub", "github")).candidates():
        ...     print(".".join(sections))
        sources.hub.github
        sources.hub
        sources.github
        sources
        <BLANKLINE>
        """
        full = (*self.requested, *self.added)
        candidates = [full[:length] for length in range(len(full), -1, -1)]
        match self.requested:
            case ("sources", _, name, *_):
                candidates.insert(2, ("sources", name, *self.added))
            case _:
                pass
        for candidate in dict.fromkeys(candidates):
            yield (*self.prefix, *candidate, *self.suffix)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationValue:
    """The value at one place, or None. `misplaced` is a secret in a provider that is not for secrets."""

    location: ConfigLocation
    value: Any = field(default=None, repr=False)
    misplaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The lookup of one value. Without `accepts_tables`, a whole section is not a value.

    With `is_single_value`, one value for many fields is searched; a section ends that search, because it has
    the fields.
    """

    key: str
    sections: Sections = field(default_factory=Sections)
    pipeline_name: str | None = None
    hint: Any = Any
    secret: bool = False
    accepts_tables: bool = True
    is_single_value: bool = False

    def iter_locations(self, providers: Sequence[ConfigProvider]) -> Iterator[LocationValue]:
        """Yield every place in order. A provider that is not for secrets appears only if it has this one.

        Every provider is queried with the pipeline name as the first section, then again without it.
        """
        for first in (self.pipeline_name, None) if self.pipeline_name else (None,):
            for provider in providers:
                for candidate in self.sections.candidates() if provider.supports_sections else [()]:
                    value, full = query_provider(provider, self.key, self.hint, first, *candidate)
                    is_value = value is not None and (self.accepts_tables or not isinstance(value, Mapping))
                    location = ConfigLocation(provider=provider.name, key=full)
                    if provider.supports_secrets or not self.secret:
                        yield LocationValue(location=location, value=_copy_value(value) if is_value else None)
                    elif is_value and not (self.is_single_value and isinstance(value, Mapping)):
                        yield LocationValue(location=location, misplaced=True)

    def find(self, providers: Sequence[ConfigProvider]) -> LookupResult:
        """Return the value at the first place that has one."""
        tried: list[ConfigLocation] = []
        for candidate in self.iter_locations(providers):
            if candidate.misplaced:
                raise ValueNotSecret(field=self.key, place=str(candidate.location))
            tried.append(candidate.location)
            if self.is_single_value and isinstance(candidate.value, Mapping):
                break
            if candidate.value is not None:
                self._record(candidate, providers)
                return LookupResult(
                    tried_locations=tuple(tried), location=candidate.location, value=candidate.value
                )
        return LookupResult(tried_locations=tuple(tried))

    def is_secret_at(self, location: ConfigLocation, providers: Sequence[ConfigProvider]) -> bool:
        """Return whether a value found there is secret by its type, its name or its provider."""
        vaults = {
            provider.name
            for provider in providers
            if provider.supports_secrets and not isinstance(provider, EnvironmentProvider)
        }
        return self.secret or is_secret_name(self.key) or location.provider in vaults

    def _record(self, location_value: LocationValue, providers: Sequence[ConfigProvider]) -> None:
        """Record the setting in the scope's record, unless it is secret or from a provider of secrets."""
        resolved, location = scope().resolved, location_value.location
        if resolved is None or is_secret_name(location.key) or self.is_secret_at(location, providers):
            return
        resolved.record(location.provider, location.key, location_value.value)


def _copy_value(value: Any) -> Any:
    return deepcopy(value) if isinstance(value, (dict, list)) else value
