"""Where a value came from, and where it was looked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.config.fields import SpecField, fields_of
from penstock.config.fill import Question
from penstock.config.inject import get_fun_spec
from penstock.config.lookup import Lookup, Place, Sections
from penstock.config.native import taken_apart
from penstock.config.resolve import sections_of
from penstock.config.scope import scope
from penstock.config.settings import read_settings
from penstock.config.signature import function_spec
from penstock.config.specs import BaseConfiguration
from penstock.redaction import MASK, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.config.lookup import Seen
    from penstock.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One place: whether it holds a value, and whether it is the one that counts."""

    place: Place
    has_value: bool = False
    used: bool = False
    misplaced: bool = False

    def __str__(self) -> str:
        note = " (a secret where secrets must not be)" if self.misplaced else ""
        if self.has_value and not self.used:
            note = " (set, but an earlier place wins)"
        return f"{'>' if self.used else ' '} {self.place}{note}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One value: what it is, as text without secrets, where it is from, and all places in their order."""

    field: str
    origin: str
    shown: str | None = None
    place: Place | None = None
    looks: tuple[Look, ...] = ()

    def __str__(self) -> str:
        value = "" if self.shown is None else f" = {self.shown}"
        lines = [f"{self.field}{value} ({self.place or self.origin})"]
        return "\n".join([*lines, *(f"  {look}" for look in self.looks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What `explain` found; printed, it is a page to read."""

    values: tuple[Explained, ...]

    def __getitem__(self, name: str) -> Explained:
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
    """Tell where a value comes from: of a dotted path, of all fields of a spec, or of a function's arguments.

    Nothing is resolved or checked, and secrets are shown as `***`. `>` marks the place that counts.

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
    question = Question(
        providers=(settings or read_settings()).providers,
        pipeline_name=pipeline_name or scope().pipeline_name,
        sections=Sections(asked=sections or scope().sections),
    )
    if isinstance(what, str):
        *above, key = what.split(".")
        asked = replace(question, sections=Sections(asked=(*sections, *above)))
        one = SpecField(name=key, hint=Any, required=True)
        return Explanation(values=(_explained(key, asked.lookup(one), asked, one),))
    if isinstance(what, type) and issubclass(what, BaseConfiguration):
        inside = replace(question, sections=sections_of(what, question.sections.asked))
        return Explanation(values=tuple(_of_spec("", what, inside)))
    taken = get_fun_spec(what) or function_spec(what)
    return Explanation(values=tuple(_of_fields("", taken.fields, question, {}, None)))


def _of_spec(prefix: str, spec: type[BaseConfiguration], question: Question) -> Iterator[Explained]:
    whole = question.whole(spec)
    native: Mapping[str, Any] = {}
    place: Place | None = None
    if whole is not None:
        search = whole.first([one for one in question.providers if one.supports_secrets or not whole.secret])
        found = _explained(prefix or whole.key, whole, question, None)
        place = search.place
        if place is not None:
            try:
                native = taken_apart(spec, search.value)
            except ValueError:
                found = replace(found, origin=f"not a value for {spec.__name__}")
        yield found
    yield from _of_fields(f"{prefix}." if prefix else "", fields_of(spec), question, native, place)


def _of_fields(
    prefix: str,
    fields: Iterable[SpecField],
    question: Question,
    native: Mapping[str, Any],
    place: Place | None,
) -> Iterator[Explained]:
    for one in fields:
        name = f"{prefix}{one.name}"
        if one.name in native:
            shown = MASK if one.secret else redact(repr(native[one.name]))
            yield Explained(field=name, origin="place", shown=shown, place=place)
        elif one.specs:
            for spec in one.specs:
                inside = replace(question, sections=question.sections.inside(one.name))
                yield from _of_spec(name, spec, inside)
        elif one.asked_for:
            yield _explained(name, question.lookup(one), question, one)


def _explained(name: str, lookup: Lookup, question: Question, one: SpecField | None) -> Explained:
    seen = tuple(lookup.look(question.providers))
    winner = next((each for each in seen if _counts(each, lookup)), None)
    looks = tuple(
        Look(
            place=each.place,
            has_value=_counts(each, lookup),
            used=each is winner,
            misplaced=each.misplaced,
        )
        for each in seen
    )
    if winner is not None:
        hidden = lookup.is_hidden(winner.place, question.providers)
        shown = MASK if hidden else redact(repr(winner.value))
        return Explained(field=name, origin="place", shown=shown, place=winner.place, looks=looks)
    if one is None:
        return Explained(field=name, origin="not given as one value", looks=looks)
    if one.required:
        return Explained(field=name, origin="missing", looks=looks)
    shown = MASK if one.secret and one.default is not None else redact(repr(one.default))
    return Explained(field=name, origin="default", shown=shown, looks=looks)


def _counts(seen: Seen, lookup: Lookup) -> bool:
    return seen.value is not None and not (lookup.whole and isinstance(seen.value, Mapping))
