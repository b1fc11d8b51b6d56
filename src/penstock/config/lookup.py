"""The order in which places are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import ValueNotSecret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.config.providers import ConfigProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place that was looked at: a provider and the name of the value there."""

    provider: str
    key: str

    def __str__(self) -> str:
        return f"{self.provider}: {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Where a value was looked for, and what was found."""

    tried: tuple[Place, ...]
    place: Place | None = None
    value: Any = field(default=None, repr=False)

    @property
    def found(self) -> bool:
        """Whether there is a value."""
        return self.place is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of a lookup: what was asked for, what specs add, and the last one, which always stays."""

    asked: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def inside(self, name: str) -> Sections:
        """The sections of a spec that is the field `name` of another one; `_name` adds none."""
        if name.startswith("_"):
            return self
        return Sections(asked=self.asked, added=(*self.added, *self.kept), kept=(name,))

    def chain(self) -> Iterator[tuple[str, ...]]:
        """All sections first, then with fewer and fewer, dropped from the right.

        Third comes the short form of a source: its name without the section (module) it is in.

        >>> for sections in Sections(asked=("sources", "hub", "github")).chain():
        ...     print(".".join(sections))
        sources.hub.github
        sources.hub
        sources.github
        sources
        <BLANKLINE>
        """
        full = (*self.asked, *self.added)
        ways = [full[:length] for length in range(len(full), -1, -1)]
        match self.asked:
            case ("sources", _, name, *_):
                ways.insert(2, ("sources", name, *self.added))
            case _:
                pass
        for way in dict.fromkeys(ways):
            yield (*way, *self.kept)


def search(
    key: str,
    *,
    providers: Sequence[ConfigProvider],
    sections: Sections,
    pipeline_name: str | None = None,
    hint: Any = Any,
    secret: bool = False,
    tables: bool = True,
) -> Search:
    """Ask every provider, with the pipeline's name as first section, then without; the first value wins.

    Without `tables` a whole section is no value.
    """
    tried: list[Place] = []
    for provider, first, way in _questions(providers, sections, pipeline_name):
        value, full = provider.get_value(key, hint, first, *way)
        place = Place(provider=provider.name, key=full)
        if value is not None and (tables or not isinstance(value, Mapping)):
            if secret and not provider.supports_secrets:
                raise ValueNotSecret(field=key, place=str(place))
            return Search(tried=(*tried, place), place=place, value=value)
        if provider.supports_secrets or not secret:
            tried.append(place)
    return Search(tried=tuple(tried))


def _questions(
    providers: Sequence[ConfigProvider], sections: Sections, pipeline_name: str | None
) -> Iterator[tuple[ConfigProvider, str | None, tuple[str, ...]]]:
    for first in (pipeline_name, None) if pipeline_name else (None,):
        for provider in providers:
            ways = sections.chain() if provider.supports_sections else [()]
            for way in ways:
                yield provider, first, way
