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
from penstock.schema.evidence import VALUE_KEY, Evidence, Tally, merge_evidence
from penstock.schema.observation import observe_value
from penstock.schema.types import MAX_DECIMAL_PRECISION
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.schema.evidence import Position
    from penstock.schema.value_path import PathStep, ValuePath

JsonForm = Literal[
    "bool", "whole", "wide", "fraction", "large", "text", "object", "list", "null",
    "tagged text", "tagged decimal", "tagged timestamp", "tagged date", "tagged time", "tagged binary",
    "tagged double", "tagged wei",
]  # fmt: skip
"""What a value is in JSON.

`wide` is a whole number that passes 64 bits, `large` a fraction so large that it has no digits behind the
point: by its size alone nobody tells it from a whole number. Texts that stand for a value JSON has no type
for are `tagged`.
"""

_TAG_DECODERS: Final[Mapping[str, Callable[[str], Any]]] = {
    tags.DECIMAL: Decimal,
    tags.DATETIME: datetime.fromisoformat,
    tags.DATE: date.fromisoformat,
    tags.TIME: time.fromisoformat,
    tags.UUID: str,
    tags.HEX: str,
    tags.BYTES: base64.b64decode,
    tags.WEI: Decimal,
    tags.NON_FINITE: float,
    tags.ESCAPED_TEXT: str,
}
_TAG_FORMS: Final[Mapping[str, JsonForm]] = {
    tags.DECIMAL: "tagged decimal",
    tags.DATETIME: "tagged timestamp",
    tags.DATE: "tagged date",
    tags.TIME: "tagged time",
    tags.BYTES: "tagged binary",
    tags.NON_FINITE: "tagged double",
}
_TYPE_FORMS: Final[Mapping[type, JsonForm]] = {type(None): "null", bool: "bool", dict: "object", list: "list"}
_NO_FORMS: Final = frozenset[JsonForm]()
_MAX_EXACT_INTEGER: Final = 2**53
_DECIMAL_LIMIT: Final = 10**MAX_DECIMAL_PRECISION


@dataclass(frozen=True, slots=True, kw_only=True)
class RowProfile:
    """What is known of the rows of a root table.

    `forms` says what each path was seen as in the JSON texts, nulls left out.
    """

    evidence: tuple[Evidence, ...] = ()
    forms: Mapping[ValuePath, frozenset[JsonForm]] = field(default_factory=dict)
    rows: int = 0
    unreadable: int = 0
    """Rows that are no JSON at all."""

    def merged_with(self, *others: RowProfile) -> RowProfile:
        """Add up what was learned from several sets of rows."""
        forms = dict(self.forms)
        for other in others:
            for path, found in other.forms.items():
                forms[path] = forms.get(path, _NO_FORMS) | found
        return RowProfile(
            evidence=merge_evidence((*self.evidence, *(one for other in others for one in other.evidence))),
            forms=forms,
            rows=self.rows + sum(other.rows for other in others),
            unreadable=self.unreadable + sum(other.unreadable for other in others),
        )

    def has_same_shape_as(self, other: RowProfile) -> bool:
        """Whether nothing is seen here that was not seen there."""
        return self.forms == other.forms and len(self.evidence) == len(other.evidence)


def profile_rows(texts: Iterable[str | bytes], *, start: int = 0) -> RowProfile:
    """Look at rows; `start` is the number of the first, so that parts come in order."""
    learner = _Profiler()
    for number, text in enumerate(texts, start):
        learner.add_row(text, number)
    return learner.profile()


class _Profiler:
    """Looks at rows one after another, in the order of `schema.evidence.walk`.

    What was seen is kept at the place where it was seen: places are found by the keys of a row, and no path
    is put together for each value.
    """

    def __init__(self) -> None:
        self._root = _PathNode(())
        self._nodes = [self._root]
        self._rows = self._unreadable = 0

    def add_row(self, text: str | bytes, number: int) -> None:
        self._rows += 1
        try:
            row = orjson.loads(text)
        except orjson.JSONDecodeError:
            self._unreadable += 1
            return
        top = row if type(row) is dict else {VALUE_KEY: row}
        rows: list[tuple[Any, _PathNode, Position]] = [(top, self._root, (number,))]
        while rows:
            current, place, position = rows.pop()
            place.observe(current, position, 0)
            lists = (
                self._observe_fields(current, place, position)
                if type(current) is dict
                else [(place, current)]
                if type(current) is list
                else []
            )
            for above, elements in reversed(lists):
                each = above.children.get(EACH) or self._add_node(above, EACH)
                last = len(elements) - 1
                rows.extend(
                    (element, each, (*position, last - index))
                    for index, element in enumerate(reversed(elements))
                )

    def _observe_fields(
        self, row: dict[str, Any], node: _PathNode, position: Position
    ) -> list[tuple[_PathNode, list[Any]]]:
        """See every value in the objects of one row; gives the lists."""
        lists: list[tuple[_PathNode, list[Any]]] = []
        objects = [(node, row)]
        ordinal = 0
        while objects:
            above, fields = objects.pop()
            for key, value in fields.items():
                ordinal += 1
                place = above.children.get(key) or self._add_node(above, key)
                place.observe(value, position, ordinal)
                if type(value) is dict:
                    objects.append((place, value))
                elif type(value) is list:
                    lists.append((place, value))
        return lists

    def _add_node(self, parent: _PathNode, step: PathStep) -> _PathNode:
        place = parent.children[step] = _PathNode((*parent.path, step))
        self._nodes.append(place)
        return place

    def profile(self) -> RowProfile:
        evidence = merge_evidence(
            tally.evidence(place.path, *key) for place in self._nodes for key, tally in place.tallies.items()
        )
        forms = {place.path: frozenset(place.forms - {"null"}) for place in self._nodes if place.forms}
        return RowProfile(evidence=evidence, forms=forms, rows=self._rows, unreadable=self._unreadable)


class _PathNode:
    """A path, what was seen there, and the places below it."""

    __slots__ = ("children", "forms", "path", "tallies")

    def __init__(self, path: ValuePath) -> None:
        self.path = path
        self.children: dict[PathStep, _PathNode] = {}
        self.forms: set[JsonForm] = set()
        self.tallies: dict[tuple[Any, ...], Tally] = {}

    def observe(self, value: Any, position: Position, ordinal: int) -> None:
        form, plain = decode_value(value)
        seen = observe_value(plain)
        key = (seen.type, seen.fits, seen.detected)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally((*position, ordinal))
        tally.add(seen, plain)
        self.forms.add(form)


def decode_value(value: Any) -> tuple[JsonForm, Any]:
    """Give the form of a value of JSON, and the value that a tag says it is."""
    kind = type(value)
    if kind is str:
        if value[:1] in _TAG_DECODERS:
            return _decode_tagged(value[0], _TAG_DECODERS[value[0]](value[1:]))
        return "text", value
    if kind is int:
        return ("whole" if SMALLEST_BIGINT <= value <= LARGEST_BIGINT else "wide"), value
    if kind is float:
        return ("large" if abs(value) > _MAX_EXACT_INTEGER else "fraction"), value
    return _TYPE_FORMS[kind], value


def _decode_tagged(tag: str, value: Any) -> tuple[JsonForm, Any]:
    if tag == tags.WEI:
        fits = -_DECIMAL_LIMIT < value < _DECIMAL_LIMIT
        return ("tagged wei", int(value)) if fits else ("tagged text", format(value, "f"))
    if tag == tags.DECIMAL and not fits_decimal(value):
        return "tagged text", value
    return _TAG_FORMS.get(tag, "tagged text"), value
