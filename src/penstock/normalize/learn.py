"""What stands in the JSON texts of rows: evidence to decide by, and how each path is to be stored."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from penstock.package import tags
from penstock.schema.convert import LARGEST_BIGINT, SMALLEST_BIGINT, fits_decimal
from penstock.schema.evidence import MAX_EXAMPLE_LENGTH, MAX_EXAMPLES, Evidence, merged, walk
from penstock.schema.look import Look, look
from penstock.schema.types import MAX_DECIMAL_PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.schema.evidence import Position
    from penstock.schema.path import Path

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
    def __init__(self) -> None:
        self._tallies: dict[Any, _Tally] = {}
        self._forms: dict[Path, set[Form]] = {}
        self._rows = self._unreadable = 0

    def take(self, text: str | bytes, number: int) -> None:
        self._rows += 1
        try:
            row = orjson.loads(text)
        except orjson.JSONDecodeError:
            self._unreadable += 1
            return
        for path, position, value in walk(row, number):
            form, plain = read(value)
            seen = look(plain)
            key = (path, seen.type, seen.fits, seen.detected)
            tally = self._tallies.get(key)
            if tally is None:
                tally = self._tallies[key] = _Tally(position)
            tally.add(seen, plain)
            if form not in tally.forms:
                tally.forms.add(form)
                self._forms.setdefault(path, set()).add(form)

    def learned(self) -> Learned:
        evidence = merged(
            Evidence(
                path=path,
                type=kind,
                count=tally.count,
                first=tally.first,
                fits=fits,
                detected=detected,
                longest=tally.longest,
                examples=tuple(tally.examples),
            )
            for (path, kind, fits, detected), tally in self._tallies.items()
        )
        forms = {path: frozenset(found - {"null"}) for path, found in self._forms.items()}
        return Learned(evidence=evidence, forms=forms, rows=self._rows, unreadable=self._unreadable)


def read(value: Any) -> tuple[Form, Any]:
    """Give the form of a value of JSON, and the value that a tag says it is."""
    match value:
        case None:
            return "null", None
        case str():
            if value[:1] in tags.ALL and value:
                return _read_tagged(value[0], _READERS[value[0]](value[1:]))
            return "text", value
        case bool():
            return "bool", value
        case int():
            return ("whole" if SMALLEST_BIGINT <= value <= LARGEST_BIGINT else "wide"), value
        case float():
            return ("large" if abs(value) > _EXACT else "fraction"), value
        case Mapping():
            return "object", value
        case _:
            return "list", value


def _read_tagged(tag: str, value: Any) -> tuple[Form, Any]:
    if tag == tags.WEI:
        return ("tagged wei", int(value)) if abs(value) < _TOO_WIDE else ("tagged text", format(value, "f"))
    if tag == tags.DECIMAL and not fits_decimal(value):
        return "tagged text", value
    return _TAGGED.get(tag, "tagged text"), value


class _Tally:
    __slots__ = ("count", "examples", "first", "forms", "longest")

    def __init__(self, first: Position) -> None:
        self.count, self.first, self.longest = 0, first, 0
        self.examples: list[str] = []
        self.forms: set[Form] = set()

    def add(self, seen: Look, value: Any) -> None:
        self.count += 1
        self.longest = max(self.longest, seen.length)
        if len(self.examples) < MAX_EXAMPLES and seen.type not in ("null", "object", "list"):
            text = str(value)[:MAX_EXAMPLE_LENGTH]
            if text not in self.examples:
                self.examples.append(text)
