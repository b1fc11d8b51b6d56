"""How the fields of a spec get their values, one by one, with a note of where each one came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from penstock.config.coerce import coerced, reason
from penstock.config.fields import SpecField, fields_of
from penstock.config.hints import arms, said
from penstock.config.lookup import Lookup, Place, Search, Sections
from penstock.config.native import taken_apart
from penstock.config.secret import TSecretValue, hidden
from penstock.config.specs import BaseConfiguration, CredentialsConfiguration
from penstock.errors import ConfigValueCannotBeCoerced
from penstock.redaction import redact, redact_pieces, remember_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.config.providers import ConfigProvider

Spec = TypeVar("Spec", bound=BaseConfiguration)
Origin = Literal["call", "place", "default", "missing"]
CALL = "the call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Who is asked, and in which sections."""

    providers: Sequence[ConfigProvider]
    pipeline_name: str | None = None
    sections: Sections = field(default_factory=Sections)

    def lookup(self, one: SpecField) -> Lookup:
        """The lookup of one field."""
        return Lookup(
            key=one.name,
            sections=self.sections,
            pipeline_name=self.pipeline_name,
            hint=one.hint,
            secret=one.secret,
            tables=one.tables,
        )

    def whole(self, spec: type[BaseConfiguration]) -> Lookup | None:
        """The lookup of one value that stands for all fields; None where the spec has no such value."""
        if not self.sections.kept or not (spec.__section__ or hasattr(spec, "parse_native_representation")):
            return None
        secret = issubclass(spec, CredentialsConfiguration)
        return Lookup(
            key=self.sections.kept[0],
            sections=replace(self.sections, kept=()),
            pipeline_name=self.pipeline_name,
            hint=TSecretValue if secret else Any,
            secret=secret,
            whole=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of looking for one field."""

    field: str
    origin: Origin
    place: Place | None = None
    tried: tuple[Place, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Values by field, and an answer for each field. Fields that keep their default have no value here."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    answers: tuple[Answer, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether no required field is missing."""
        return all(answer.origin != "missing" for answer in self.answers)


def fill_spec(
    spec: type[BaseConfiguration],
    question: Question,
    given: Any = None,
    *,
    place: Place | None = None,
    defaults: BaseConfiguration | None = None,
) -> Filled:
    """Fill a spec that is given as an object, as one native value, in part or not at all.

    `place` is where the given value was found, if not in the call. The values of `defaults` hold where
    nothing is found.
    """
    lookup = question.whole(spec) if _says_nothing(given) else None
    search = Search() if lookup is None else lookup.first(question.providers)
    native, where = (given, place) if search.place is None else (search.value, search.place)
    own = {name: getattr(defaults, name) for name in defaults.model_fields_set} if defaults else {}
    fields = (replace(one, required=one.required and own.get(one.name) is None) for one in fields_of(spec))
    filled = fill_fields(fields, question, _parts(spec, native, where), place=where)
    answers = filled.answers
    if search.tried and not filled.complete:
        answers = (Answer(field="", origin="missing", tried=search.tried, secret=True), *answers)
    return Filled(values={**own, **filled.values}, answers=answers)


def fill_fields(
    fields: Iterable[SpecField],
    question: Question,
    explicit: Mapping[str, Any],
    *,
    place: Place | None = None,
) -> Filled:
    """Fill the fields of a spec; `place` is where the explicit values were found, if not in the call."""
    values: dict[str, Any] = {}
    answers: list[Answer] = []
    for one in fields:
        fill = _nested if one.specs else _single
        filled = fill(one, question, explicit.get(one.name), place)
        values |= filled.values
        answers += filled.answers
    return Filled(values=values, answers=tuple(answers))


def built(spec: type[Spec], values: Mapping[str, Any]) -> Spec:
    """The instance with these values, checked as a whole."""
    optional = {name: None for name, info in spec.model_fields.items() if info.is_required()}
    try:
        made = spec.model_validate({**optional, **values})
    except ValidationError as error:
        raise ConfigValueCannotBeCoerced(
            field="all of it", type=spec.__name__, place="all places", reason=redact(reason(error))
        ) from None
    made.on_resolved()
    return made


def _says_nothing(given: Any) -> bool:
    return given is None or (isinstance(given, Mapping) and not given)


def _single(one: SpecField, question: Question, given: Any, place: Place | None) -> Filled:
    if given is not None:
        answer = Answer(field=one.name, origin="place" if place else "call", place=place, secret=one.secret)
        return Filled(values={one.name: _coerced(given, one, place)}, answers=(answer,))
    search = question.lookup(one).first(question.providers) if one.asked_for else Search()
    facts: dict[str, Any] = {"field": one.name, "tried": search.tried, "secret": one.secret}
    if search.place is not None:
        value = _coerced(search.value, one, search.place)
        return Filled(
            values={one.name: value}, answers=(Answer(origin="place", place=search.place, **facts),)
        )
    return Filled(answers=(Answer(origin="missing" if one.required else "default", **facts),))


def _nested(one: SpecField, question: Question, given: Any, place: Place | None) -> Filled:
    inside = replace(question, sections=question.sections.inside(one.name))
    specs = [type(given)] if isinstance(given, BaseConfiguration) else one.specs
    tries: list[tuple[type[BaseConfiguration], Filled]] = []
    refused: ConfigValueCannotBeCoerced | None = None
    for spec in specs:
        try:
            defaults = one.default if isinstance(one.default, spec) else None
            filled = fill_spec(spec, inside, given, place=place, defaults=defaults)
        except ConfigValueCannotBeCoerced as error:
            refused = refused or error
            continue
        if filled.complete:
            return _below(one.name, filled, values={one.name: built(spec, filled.values)})
        tries.append((spec, filled))
    return _without_spec(one, question, given, tries, refused)


def _without_spec(
    one: SpecField,
    question: Question,
    given: Any,
    tries: list[tuple[type[BaseConfiguration], Filled]],
    refused: ConfigValueCannotBeCoerced | None,
) -> Filled:
    """No spec of the field could be filled: it is something else, has a default, or something is missing."""
    if set(arms(one.hint)) - set(one.specs):
        plain = _single(one, question, given, None)
        if plain.values:
            return plain
    if refused is not None:
        raise refused
    if not one.required:
        tried = tuple(place for _, filled in tries for answer in filled.answers for place in answer.tried)
        return Filled(answers=(Answer(field=one.name, origin="default", tried=tried),))
    named = len(tries) > 1
    answers = [
        answer
        for spec, filled in tries
        for answer in _below(one.name, filled, note=f" ({spec.__name__})" if named else "").answers
    ]
    return Filled(answers=tuple({answer.field: answer for answer in answers}.values()))


def _below(name: str, filled: Filled, *, values: Mapping[str, Any] | None = None, note: str = "") -> Filled:
    answers = tuple(
        replace(answer, field=f"{name}.{answer.field}{note}" if answer.field else name)
        for answer in filled.answers
    )
    return Filled(values=values or {}, answers=answers)


def _parts(spec: type[BaseConfiguration], native: Any, place: Place | None) -> Mapping[str, Any]:
    """The fields that one value says, or an error without the value."""
    text = native if isinstance(native, str) else ""
    if text and issubclass(spec, CredentialsConfiguration):
        remember_secret(text)
    try:
        parts = taken_apart(spec, native)
    except ValueError as error:
        raise _cannot(spec.__name__, spec, place, redact_pieces(str(error), text)) from None
    unknown = [name for name in parts if name not in spec.model_fields]
    if unknown:
        raise _cannot(unknown[0], spec, place, "there is no such field")
    return parts


def _coerced(value: Any, one: SpecField, place: Place | None) -> Any:
    if one.secret:
        hidden(value)  # so that messages do not show it
    try:
        return coerced(value, one.hint)
    except ValueError as error:
        raise _cannot(one.name, one.hint, place, str(error)) from None


def _cannot(name: str, hint: Any, place: Place | None, why: str) -> ConfigValueCannotBeCoerced:
    return ConfigValueCannotBeCoerced(
        field=name, type=said(hint), place=str(place or CALL), reason=redact(why)
    )
