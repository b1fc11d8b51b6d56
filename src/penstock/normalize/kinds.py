"""What the values of one path turned out to be: bits gathered by Spark, read here.

Text alone does not tell a timestamp from a name, nor does a whole number tell that it passes 64 bits. The
bits of all values of a path are or-ed by one aggregate over the nested dataset, so they do not depend on
order or on retries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING

from penstock.package import tags
from penstock.package.projection import is_tagged
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from penstock.normalize.shape import Group, Value
    from penstock.normalize.tree import Kind


class Seen(IntFlag):
    """One bit for each thing that a value can turn out to be."""

    NOTHING = 0
    TEXT = 1
    TIMESTAMP = 2
    DECIMAL = 4
    DATE = 8
    TIME = 16
    BINARY = 32
    NUMBER = 64
    LARGE = 128
    OTHER = 256
    TAGGED = 512
    WHOLE = 1024


# The shapes that dlt takes for a timestamp; a date alone stays text.
_ISO = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?$"
_FITS_DECIMAL = r"^-?\d{1,29}([.]\d{1,9})?$"
_LARGEST, _SMALLEST = 2**63 - 1, -(2**63)
_IN_DOUBT: frozenset[Kind] = frozenset(("text", "wide", "mixed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A value of the nested dataset whose type is not known yet, and the SQL that finds it out."""

    way: tuple[Group, ...]
    value: Value

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        """Names the path: the raw keys of each group on the way, and of the value."""
        return (*(group.keys for group in self.way), self.value.keys)

    def sql(self) -> str:
        """An aggregate that ors the bits of every value on this path."""
        return f"bit_or({_folded(self.way[1:], self.value, 'row', 0)})"


def questions(root: Group) -> list[Question]:
    """One question for each value in doubt."""
    return [
        Question(way=way, value=value)
        for way in root.walk()
        for value in way[-1].values
        if value.leaf.kind in _IN_DOUBT
    ]


def _folded(lists: tuple[Group, ...], value: Value, row: str, depth: int) -> str:
    """Step into lists by folding, so that no row is multiplied."""
    if not lists:
        return _bits(value, quoted(row, *value.names))
    element = f"x{depth}"
    inner = _folded(lists[1:], value, element, depth + 1)
    source = quoted(row, *lists[0].names)
    return f"coalesce(aggregate({source}, 0L, (a{depth}, {element}) -> a{depth} | {inner}), 0L)"


def _bits(value: Value, source: str) -> str:
    match value.leaf.kind:
        case "wide":
            large = f"{source} > {_LARGEST} OR {source} < {_SMALLEST}"
            return f"CASE WHEN {source} IS NULL THEN 0L WHEN {large} THEN {Seen.LARGE:d}L ELSE 0L END"
        case "mixed":
            return _bits_of_mixed(source)
        case _:
            return _bits_of_text(source)


def _bits_of_text(source: str) -> str:
    tag, rest = f"substring({source}, 1, 1)", f"substring({source}, 2)"
    iso = f"{source} RLIKE {literal(_ISO)} AND try_cast({source} AS TIMESTAMP) IS NOT NULL"
    fits = f"{rest} RLIKE {literal(_FITS_DECIMAL)}"

    def when(character: str, seen: Seen, test: str = "true") -> str:
        bits, otherwise = int(Seen.TAGGED | seen), int(Seen.TAGGED | Seen.TEXT)
        return f"WHEN {literal(character)} THEN CASE WHEN {test} THEN {bits}L ELSE {otherwise}L END"

    cases = " ".join(
        (
            when(tags.DATETIME, Seen.TIMESTAMP, f"try_cast({rest} AS TIMESTAMP) IS NOT NULL"),
            when(tags.DECIMAL, Seen.DECIMAL, fits),
            when(tags.DATE, Seen.DATE, f"try_cast({rest} AS DATE) IS NOT NULL"),
            when(tags.TIME, Seen.TIME),
            when(tags.BYTES, Seen.BINARY),
            when(tags.NUMBER, Seen.NUMBER),
        )
    )
    return (
        f"CASE WHEN {source} IS NULL THEN 0L"
        f" WHEN NOT ({is_tagged(source)}) THEN"
        f" CASE WHEN {iso} THEN {Seen.TIMESTAMP:d}L ELSE {Seen.TEXT:d}L END"
        f" ELSE CASE {tag} {cases} ELSE {Seen.TAGGED | Seen.TEXT:d}L END END"
    )


def _bits_of_mixed(source: str) -> str:
    kind, text = f"schema_of_variant({source})", f"try_variant_get({source}, '$', 'string')"
    tag, rest = f"substring({text}, 1, 1)", f"substring({text}, 2)"
    number = f"{kind} IN ('DOUBLE', 'FLOAT') OR {kind} LIKE 'DECIMAL%'"
    decimal = f"{tag} = {literal(tags.DECIMAL)} AND {rest} RLIKE {literal(_FITS_DECIMAL)}"
    return (
        f"CASE WHEN {source} IS NULL OR {kind} = 'VOID' THEN 0L"
        f" WHEN {kind} = 'BIGINT' THEN {Seen.WHOLE:d}L"
        f" WHEN {number} OR ({kind} = 'STRING' AND {tag} = {literal(tags.NUMBER)}) THEN {Seen.NUMBER:d}L"
        f" WHEN {kind} = 'STRING' AND {decimal} THEN {Seen.DECIMAL:d}L ELSE {Seen.OTHER:d}L END"
    )
