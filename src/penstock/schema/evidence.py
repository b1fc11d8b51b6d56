"""Evidence from the rows of one root table: counts by path and type, small enough for the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.schema.observation import (
    NO_DETECTIONS,
    NO_TYPES,
    Detection,
    ObservedType,
    ValueObservation,
    observe_value,
    typed_value,
)
from penstock.schema.value_path import EACH, ValuePath

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from penstock.schema.types import DataType

MAX_EXAMPLES: Final = 3
MAX_EXAMPLE_LENGTH: Final = 80
VALUE_KEY: Final = "value"
"""The key of a row that is not an object, and of an element that is neither object nor list."""

Position = tuple[int, ...]
"""The number of the root row, the index in each list on the path, and the number of the value in its row.

Positions order the values of a table independently of the machines that read them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All values of one path that have the same type and fit the same other types.

    `type` is a data type, `object`, `list`, or `null`. Nulls and rows are counted too: the path `()` counts
    root rows, one that ends in `EACH` counts elements. `fits` are the other types that all these values
    convert to without loss; an empty set is always safe. `detected` are the detectors that match all of them.
    """

    path: ValuePath
    type: ObservedType
    count: int = 1
    first: Position = (0, 0)
    fits: frozenset[DataType] = NO_TYPES
    detected: frozenset[Detection] = NO_DETECTIONS
    longest: int = 0
    """Characters of the longest text; for timestamps, the most digits of a second."""
    examples: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[ValuePath, ObservedType, frozenset[DataType], frozenset[Detection]]:
        """The properties that values of one entry share."""
        return (self.path, self.type, self.fits, self.detected)

    def merged(self, other: Evidence) -> Evidence:
        """Return the sum of two entries with the same key."""
        early, late = (self, other) if self.first <= other.first else (other, self)
        return replace(
            early,
            count=self.count + other.count,
            longest=max(self.longest, other.longest),
            examples=tuple(dict.fromkeys(early.examples + late.examples))[:MAX_EXAMPLES],
        )


def merge_evidence(parts: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Sum up evidence from several machines; the result is ordered by path length and first position."""
    by_key: dict[Any, Evidence] = {}
    for part in parts:
        other = by_key.get(part.key)
        by_key[part.key] = part if other is None else other.merged(part)
    return tuple(sorted(by_key.values(), key=_sort_key))


def _sort_key(evidence: Evidence) -> tuple[int, Position, str]:
    return len(evidence.path), evidence.first, str(evidence.path)


def gather(
    rows: Iterable[Any],
    *,
    start: int = 0,
    json_paths: Container[ValuePath] = (),
    observe: Callable[[Any], ValueObservation] = observe_value,
) -> tuple[Evidence, ...]:
    """Gather the evidence of rows in Python: the reference for engines.

    `start` is the number of the first row. Values at `json_paths` are not entered, for map-like objects whose
    keys are data. `observe` may be `observe_value` with the time of the run, for the `timestamp` detector.

    >>> [(e.path, e.type, e.count) for e in gather([{"a": "red", "b": [None]}, {"a": "green"}])]
    [((), 'object', 2), (('a',), 'text', 2), (('b',), 'list', 1), (('b', 0), 'null', 1)]
    """
    tallies: dict[Any, Tally] = {}
    for number, row in enumerate(rows, start):
        for path, position, value in walk_values(row, number, json_paths=json_paths):
            observation = observe(value)
            key = (path, observation.type, observation.fits, observation.detected)
            tally = tallies.get(key)
            if tally is None:
                tally = tallies[key] = Tally(position)
            tally.add(observation, value)
    return merge_evidence(tally.evidence(*key) for key, tally in tallies.items())


def walk_values(
    row: Any, number: int, *, json_paths: Container[ValuePath] = ()
) -> Iterator[tuple[ValuePath, Position, Any]]:
    """Yield every value of a row with its path and position, parent rows before nested rows.

    The keys of a row are in dlt's order of columns: those of the row itself, then those of its objects, the
    last object first. Not recursive, so that depth is not limited.
    """
    top = row if isinstance(row, Mapping) else {VALUE_KEY: row}
    rows: list[tuple[Any, ValuePath, Position]] = [(top, (), (number,))]
    while rows:
        current, row_path, position = rows.pop()
        lists: list[tuple[ValuePath, Any]] = []
        # The row itself. An element may be an object, a list of more rows, or a value.
        yield row_path, (*position, 0), current
        if row_path in json_paths:
            continue
        if isinstance(current, Mapping):
            yield from _walk_fields(current, row_path, position, json_paths, lists)
        elif _is_list(current):
            lists.append((row_path, current))
        for path, elements in reversed(lists):
            numbered = list(enumerate(elements))
            rows.extend((element, (*path, EACH), (*position, index)) for index, element in reversed(numbered))


def _walk_fields(
    row: Mapping[str, Any],
    row_path: ValuePath,
    position: Position,
    json_paths: Container[ValuePath],
    lists: list[tuple[ValuePath, Any]],
) -> Iterator[tuple[ValuePath, Position, Any]]:
    """Yield every value in the objects of one row, and append its lists to `lists`."""
    ordinal = 0
    objects: list[tuple[ValuePath, Mapping[str, Any]]] = [(row_path, row)]
    while objects:
        parent, fields = objects.pop()
        for key, value in fields.items():
            path = (*parent, str(key))
            ordinal += 1
            yield path, (*position, ordinal), value
            if isinstance(value, Mapping) and path not in json_paths:
                objects.append((path, value))
            elif _is_list(value) and path not in json_paths:
                lists.append((path, value))


class Tally:
    """A mutable count of values that share one entry of evidence."""

    __slots__ = ("count", "examples", "first", "longest")

    def __init__(self, first: Position) -> None:
        self.count, self.first, self.longest = 0, first, 0
        self.examples: list[str] = []

    def add(self, observation: ValueObservation, value: Any) -> None:
        """Count another value."""
        self.count += 1
        self.longest = max(self.longest, observation.length)
        if len(self.examples) < MAX_EXAMPLES and observation.type not in ("null", "object", "list"):
            # The typed value, because Python refuses to format an integer of 5,000 digits.
            text = str(typed_value(value)[1])[:MAX_EXAMPLE_LENGTH]
            if text not in self.examples:
                self.examples.append(text)

    def evidence(
        self, path: ValuePath, kind: ObservedType, fits: frozenset[DataType], detected: frozenset[Detection]
    ) -> Evidence:
        """Return the entry of evidence with these properties."""
        return Evidence(
            path=path,
            type=kind,
            count=self.count,
            first=self.first,
            fits=fits,
            detected=detected,
            longest=self.longest,
            examples=tuple(self.examples),
        )


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes | bytearray)
