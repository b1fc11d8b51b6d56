"""The order in which places are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config.providers import Environment, ask
from penstock.config.scope import scope
from penstock.errors import ValueNotSecret
from penstock.redaction import is_secret_name

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

    tried: tuple[Place, ...] = ()
    place: Place | None = None
    value: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of a lookup: asked for, and added by specs. `fixed` and `kept` are never dropped."""

    fixed: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def inside(self, name: str) -> Sections:
        """The sections of a spec that is the field `name` of another one; `_name` adds none."""
        if name.startswith("_"):
            return self
        return replace(self, added=(*self.added, *self.kept), kept=(name,))

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
            yield (*self.fixed, *way, *self.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one place holds: a value or None. `misplaced` is a secret where secrets must not be."""

    place: Place
    value: Any = field(default=None, repr=False)
    misplaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """One value to look for. Without `tables` a whole section is no value.

    `whole` looks for one value in place of many fields. A section ends that search: the fields are in there.
    """

    key: str
    sections: Sections = field(default_factory=Sections)
    pipeline_name: str | None = None
    hint: Any = Any
    secret: bool = False
    tables: bool = True
    whole: bool = False

    def look(self, providers: Sequence[ConfigProvider]) -> Iterator[Seen]:
        """Every place in its order. One that must not hold secrets is only shown where it holds this one.

        With the pipeline's name as the first section every provider is asked, then all again without it.
        """
        for first in (self.pipeline_name, None) if self.pipeline_name else (None,):
            for provider in providers:
                for way in self.sections.chain() if provider.supports_sections else [()]:
                    value, full = ask(provider, self.key, self.hint, first, *way)
                    found = value is not None and (self.tables or not isinstance(value, Mapping))
                    place = Place(provider=provider.name, key=full)
                    if provider.supports_secrets or not self.secret:
                        yield Seen(place=place, value=_own(value) if found else None)
                    elif found and not (self.whole and isinstance(value, Mapping)):
                        yield Seen(place=place, misplaced=True)

    def first(self, providers: Sequence[ConfigProvider]) -> Search:
        """The value at the first place that has one."""
        tried: list[Place] = []
        for seen in self.look(providers):
            if seen.misplaced:
                raise ValueNotSecret(field=self.key, place=str(seen.place))
            tried.append(seen.place)
            if self.whole and isinstance(seen.value, Mapping):
                break
            if seen.value is not None:
                self._note(seen, providers)
                return Search(tried=tuple(tried), place=seen.place, value=seen.value)
        return Search(tried=tuple(tried))

    def is_hidden(self, place: Place, providers: Sequence[ConfigProvider]) -> bool:
        """Whether a value that was found there is a secret, by its type, by its name or by who keeps it."""
        vaults = {one.name for one in providers if one.supports_secrets and not isinstance(one, Environment)}
        return self.secret or is_secret_name(self.key) or place.provider in vaults

    def _note(self, seen: Seen, providers: Sequence[ConfigProvider]) -> None:
        """Tell who takes note of settings, in the scope of a run, but no secret and nothing beside one."""
        resolved, place = scope().resolved, seen.place
        if resolved is None or is_secret_name(place.key) or self.is_hidden(place, providers):
            return
        resolved.hear(place.provider, place.key, seen.value)


def _own(value: Any) -> Any:
    return deepcopy(value) if isinstance(value, (dict, list)) else value
