"""Profiles of rows: the evidence for decisions, and the JSON forms of each path."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
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
"""The form of a value in JSON.

`wide` is an integer of more than 64 bits, `large` a fraction so large that a double has no digits behind the
point, so that it may have been an integer. A text for a value that JSON has no type for is `tagged`.
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
    """Evidence from rows of a root table, and the JSON forms of each path, without nulls."""

    evidence: tuple[Evidence, ...] = ()
    forms: Mapping[ValuePath, frozenset[JsonForm]] = field(default_factory=dict)
    rows: int = 0
    unreadable: int = 0
    """Rows that are not valid JSON."""

    def merged_with(self, *others: RowProfile) -> RowProfile:
        """Return the profile of these and other rows together."""
        forms = dict(self.forms)
        for other in others:
            for path, path_forms in other.forms.items():
                forms[path] = forms.get(path, _NO_FORMS) | path_forms
        return RowProfile(
            evidence=merge_evidence(chain(self.evidence, *(other.evidence for other in others))),
            forms=forms,
            rows=self.rows + sum(other.rows for other in others),
            unreadable=self.unreadable + sum(other.unreadable for other in others),
        )

    def has_same_shape_as(self, other: RowProfile) -> bool:
        """Return whether both have the same forms, and as many entries of evidence."""
        return self.forms == other.forms and len(self.evidence) == len(other.evidence)


def profile_rows(texts: Iterable[str | bytes], *, start: int = 0) -> RowProfile:
    """Profile JSON texts; `start` is the number of the first row, which orders the profiles of parts."""
    profiler = _Profiler()
    for number, text in enumerate(texts, start):
        profiler.add_row(text, number)
    return profiler.profile()


class _Profiler:
    """A tree of paths that counts the values of rows, in the order of `schema.evidence.walk_values`.

    Nodes are found by the keys of a row: no path is built for each value.
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
            current, node, position = rows.pop()
            node.observe(current, position, 0)
            lists = (
                self._observe_fields(current, node, position)
                if type(current) is dict
                else [(node, current)]
                if type(current) is list
                else []
            )
            for parent, elements in reversed(lists):
                each = parent.children.get(EACH) or self._add_node(parent, EACH)
                last = len(elements) - 1
                rows.extend(
                    (element, each, (*position, last - index))
                    for index, element in enumerate(reversed(elements))
                )

    def _observe_fields(
        self, row: dict[str, Any], node: _PathNode, position: Position
    ) -> list[tuple[_PathNode, list[Any]]]:
        """Observe every value in the objects of one row; return the lists."""
        lists: list[tuple[_PathNode, list[Any]]] = []
        objects = [(node, row)]
        ordinal = 0
        while objects:
            parent, fields = objects.pop()
            for key, value in fields.items():
                ordinal += 1
                child = parent.children.get(key) or self._add_node(parent, key)
                child.observe(value, position, ordinal)
                if type(value) is dict:
                    objects.append((child, value))
                elif type(value) is list:
                    lists.append((child, value))
        return lists

    def _add_node(self, parent: _PathNode, step: PathStep) -> _PathNode:
        node = parent.children[step] = _PathNode((*parent.path, step))
        self._nodes.append(node)
        return node

    def profile(self) -> RowProfile:
        evidence = merge_evidence(
            tally.evidence(node.path, *key) for node in self._nodes for key, tally in node.tallies.items()
        )
        forms = {node.path: frozenset(node.forms - {"null"}) for node in self._nodes if node.forms}
        return RowProfile(evidence=evidence, forms=forms, rows=self._rows, unreadable=self._unreadable)


class _PathNode:
    """A path with its forms and tallies, and the paths below it."""

    __slots__ = ("children", "forms", "path", "tallies")

    def __init__(self, path: ValuePath) -> None:
        self.path = path
        self.children: dict[PathStep, _PathNode] = {}
        self.forms: set[JsonForm] = set()
        self.tallies: dict[tuple[Any, ...], Tally] = {}

    def observe(self, value: Any, position: Position, ordinal: int) -> None:
        form, plain = decode_value(value)
        observation = observe_value(plain)
        key = (observation.type, observation.fits, observation.detected)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally((*position, ordinal))
        tally.add(observation, plain)
        self.forms.add(form)


def decode_value(value: Any) -> tuple[JsonForm, Any]:
    """Return the form of a JSON value, and the value itself or the one that its tag encodes."""
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
