"""What stands in the JSON texts of rows: evidence to decide by, and how each path is to be stored."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from penstock.package import tags
from penstock.schema.convert import LARGEST_BIGINT, SMALLEST_BIGINT, fits_decimal
from penstock.schema.evidence import VALUE, Evidence, Tally, merged
from penstock.schema.look import look
from penstock.schema.path import EACH
from penstock.schema.types import MAX_DECIMAL_PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.schema.evidence import Position
    from penstock.schema.path import Path, Step

Form = Literal[
    "bool", "whole", "wide", "fraction", "large", "text", "object", "list", "null",
    "tagged text", "tagged decimal", "tagged timestamp", "tagged date", "tagged time", "tagged binary",
    "tagged double", "tagged wei",
]  # fmt: skip
"""What a value is in JSON.

`wide` is a whole number that passes 64 bits, `large` a fraction so large that it has no digits behind the
point: by its size alone nobody tells it from a whole number. Texts that stand for a value JSON has no type
for are `tagged`.
"""

_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    tags.DECIMAL: Decimal,
    tags.DATETIME: datetime.fromisoformat,
    tags.DATE: date.fromisoformat,
    tags.TIME: time.fromisoformat,
    tags.UUID: str,
    tags.HEX: str,
    tags.BYTES: base64.b64decode,
    tags.WEI: Decimal,
    tags.NUMBER: float,
    tags.TEXT: str,
}
_TAGGED: Final[Mapping[str, Form]] = {
    tags.DECIMAL: "tagged decimal",
    tags.DATETIME: "tagged timestamp",
    tags.DATE: "tagged date",
    tags.TIME: "tagged time",
    tags.BYTES: "tagged binary",
    tags.NUMBER: "tagged double",
}
_FORMS: Final[Mapping[type, Form]] = {type(None): "null", bool: "bool", dict: "object", list: "list"}
_NOTHING: Final = frozenset[Form]()
_EXACT: Final = 2**53
_TOO_WIDE: Final = 10**MAX_DECIMAL_PRECISION


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What is known of the rows of a root table.

    `forms` says what each path was seen as in the JSON texts, nulls left out.
    """

    evidence: tuple[Evidence, ...] = ()
    forms: Mapping[Path, frozenset[Form]] = field(default_factory=dict)
    rows: int = 0
    unreadable: int = 0
    """Rows that are no JSON at all."""

    def joined(self, *others: Learned) -> Learned:
        """Add up what was learned from several sets of rows."""
        forms = dict(self.forms)
        for other in others:
            for path, found in other.forms.items():
                forms[path] = forms.get(path, _NOTHING) | found
        return Learned(
            evidence=merged((*self.evidence, *(one for other in others for one in other.evidence))),
            forms=forms,
            rows=self.rows + sum(other.rows for other in others),
            unreadable=self.unreadable + sum(other.unreadable for other in others),
        )

    def knows_no_more_than(self, other: Learned) -> bool:
        """Whether nothing is seen here that was not seen there."""
        return self.forms == other.forms and len(self.evidence) == len(other.evidence)


def learn(texts: Iterable[str | bytes], *, start: int = 0) -> Learned:
    """Look at rows; `start` is the number of the first, so that parts come in order."""
    learner = _Learner()
    for number, text in enumerate(texts, start):
        learner.take(text, number)
    return learner.learned()


class _Learner:
    """Looks at rows one after another, in the order of `schema.evidence.walk`.

    What was seen is kept at the place where it was seen: places are found by the keys of a row, and no path
    is put together for each value.
    """

    def __init__(self) -> None:
        self._root = _Place(())
        self._places = [self._root]
        self._rows = self._unreadable = 0

    def take(self, text: str | bytes, number: int) -> None:
        self._rows += 1
        try:
            row = orjson.loads(text)
        except orjson.JSONDecodeError:
            self._unreadable += 1
            return
        top = row if type(row) is dict else {VALUE: row}
        rows: list[tuple[Any, _Place, Position]] = [(top, self._root, (number,))]
        while rows:
            current, place, position = rows.pop()
            place.see(current, position, 0)
            lists = (
                self._fields(current, place, position)
                if type(current) is dict
                else [(place, current)]
                if type(current) is list
                else []
            )
            for above, elements in reversed(lists):
                each = above.below.get(EACH) or self._new(above, EACH)
                last = len(elements) - 1
                rows.extend(
                    (element, each, (*position, last - index))
                    for index, element in enumerate(reversed(elements))
                )

    def _fields(self, row: dict[str, Any], at: _Place, position: Position) -> list[tuple[_Place, list[Any]]]:
        """See every value in the objects of one row; gives the lists."""
        lists: list[tuple[_Place, list[Any]]] = []
        objects = [(at, row)]
        ordinal = 0
        while objects:
            above, fields = objects.pop()
            for key, value in fields.items():
                ordinal += 1
                place = above.below.get(key) or self._new(above, key)
                place.see(value, position, ordinal)
                if type(value) is dict:
                    objects.append((place, value))
                elif type(value) is list:
                    lists.append((place, value))
        return lists

    def _new(self, above: _Place, step: Step) -> _Place:
        place = above.below[step] = _Place((*above.path, step))
        self._places.append(place)
        return place

    def learned(self) -> Learned:
        evidence = merged(
            tally.evidence(place.path, *key) for place in self._places for key, tally in place.tallies.items()
        )
        forms = {place.path: frozenset(place.forms - {"null"}) for place in self._places if place.forms}
        return Learned(evidence=evidence, forms=forms, rows=self._rows, unreadable=self._unreadable)


class _Place:
    """A path, what was seen there, and the places below it."""

    __slots__ = ("below", "forms", "path", "tallies")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.below: dict[Step, _Place] = {}
        self.forms: set[Form] = set()
        self.tallies: dict[tuple[Any, ...], Tally] = {}

    def see(self, value: Any, position: Position, ordinal: int) -> None:
        form, plain = read(value)
        seen = look(plain)
        key = (seen.type, seen.fits, seen.detected)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally((*position, ordinal))
        tally.add(seen, plain)
        self.forms.add(form)


def read(value: Any) -> tuple[Form, Any]:
    """Give the form of a value of JSON, and the value that a tag says it is."""
    kind = type(value)
    if kind is str:
        if value[:1] in _READERS:
            return _read_tagged(value[0], _READERS[value[0]](value[1:]))
        return "text", value
    if kind is int:
        return ("whole" if SMALLEST_BIGINT <= value <= LARGEST_BIGINT else "wide"), value
    if kind is float:
        return ("large" if abs(value) > _EXACT else "fraction"), value
    return _FORMS[kind], value


def _read_tagged(tag: str, value: Any) -> tuple[Form, Any]:
    if tag == tags.WEI:
        fits = -_TOO_WIDE < value < _TOO_WIDE
        return ("tagged wei", int(value)) if fits else ("tagged text", format(value, "f"))
    if tag == tags.DECIMAL and not fits_decimal(value):
        return "tagged text", value
    return _TAGGED.get(tag, "tagged text"), value
