"""Comparison of rows of penstock and dlt, cell by cell: equal, or a named difference."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.oracle.reference_rows import comparable

from penstock.schema.convert import fits_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema import Decision

LINKS = ("_dlt_id", "_dlt_parent_id", "_dlt_root_id")
READERS: dict[str, Any] = {
    "decimal": Decimal,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "binary": bytes.fromhex,
}
TWO_KEYS = "two-keys-one-name"
CHANGED = {
    "date": "moment-into-date",
    "double": "digits-into-double",
    "bigint": "whole-past-64-bits",
    "decimal": "digits-into-decimal",
    "wei": "digits-into-decimal",
}
"""The change that dlt made to a value, by the type of its column."""
NO_NUMBERS = ("nan", math.inf, -math.inf)
NUMBERS = ("bigint", "double", "decimal", "wei")
_VARIANT = re.compile(r"__v_(text|double|bool|timestamp|bigint|binary|json|decimal|date|time|wei)$")

Tables = dict[str, list[dict[str, Any]]]


@dataclass
class Compared:
    """The result of one batch."""

    cells: Counter[str] = field(default_factory=Counter)
    """Counts of equal cells, and of different ones by reason."""
    wrong: list[Any] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`equal`, or the names of the differences."""
        return "WRONG" if self.wrong else "+".join(sorted(set(self.cells) - {"equal"})) or "equal"


def value(coded: Any) -> Any:
    """Decode a value of the bridge."""
    match coded:
        case {"$": kind, "v": text}:
            return READERS[kind](text)
        case dict():
            return {key: value(one) for key, one in coded.items()}
        case list():
            return [value(one) for one in coded]
        case _:
            return coded


def linked(tables: Tables) -> Tables:
    """Return the rows with the number of a row instead of its id: ids differ between the tools."""
    numbers = {row["_dlt_id"]: number for rows in tables.values() for number, row in enumerate(rows)}
    return {
        name: [
            {key: numbers.get(found, found) if key in LINKS else found for key, found in row.items()}
            for row in rows
        ]
        for name, rows in tables.items()
    }


def theirs(answer: Mapping[str, Any]) -> Tables:
    """Return the rows of dlt in the format of `reference_tables`."""
    return {
        name: [
            {
                key: one if key in LINKS else _shown(value(one), types_of(answer)[name][key])
                for key, one in row.items()
                if key != "_dlt_load_id" and one is not None
            }
            for row in rows
        ]
        for name, rows in answer["values"].items()
    }


def _shown(found: Any, to: str) -> Any:
    try:
        return comparable(found, to)
    except (TypeError, AttributeError):
        # If two keys have one name, dlt may store a value in a column of another type.
        return found


def types_of(answer: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the types of the columns of dlt."""
    return {
        name: {column: facts.get("data_type") for column, facts in table["columns"]}
        for name, table in answer["tables"].items()
    }


class Comparison:
    """The comparison of the batches of one case, with the names that two keys share so far."""

    def __init__(self) -> None:
        self.met: dict[str, str] = {}
        self.changed: dict[tuple[str, str], str] = {}

    def compare(self, ours: Tables, answer: Mapping[str, Any], decision: Decision) -> Compared:
        """Compare all tables, row by row, and cell by cell."""
        self.met |= {one.assigned_name: one.plain_name for one in decision.collisions}
        met = {*self.met, *self.met.values()}
        compared = Compared()
        own, expected, types = linked(ours), linked(theirs(answer)), types_of(answer)
        for name in sorted({*own, *expected}):
            rows, others = own.get(name, []), expected.get(name, [])
            if any(name == one or name.startswith(f"{one}__") for one in met):
                compared.cells[TWO_KEYS] += 1
            elif len(rows) != len(others):
                compared.wrong.append((name, rows, others))
            else:
                columns = decision.schema.tables[name].columns
                own_types = {column: facts.data_type or "" for column, facts in columns.items()}
                for one, other in zip(rows, others, strict=True):
                    self._compare_row(name, one, other, own_types, types[name], compared)
        return compared

    def _compare_row(
        self,
        table: str,
        ours: Mapping[str, Any],
        others: Mapping[str, Any],
        own_types: Mapping[str, str],
        types: Mapping[str, str],
        compared: Compared,
    ) -> None:
        groups: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for index, row in enumerate((ours, others)):
            for key, found in row.items():
                base = self._base(key)
                groups.setdefault(base, ({}, {}))[index][key] = found
        meeting = {self._base(name) for name in self.met.values()}
        for base, (one, other) in groups.items():
            why = "equal" if one == other else TWO_KEYS if base in meeting else None
            why = why or _difference(one, other, own_types, types)
            if why is None and list(one.values()) == list(other.values()):
                # After a value was stored in a variant, variants have other types, and so other names.
                why = self.changed.get((table, base))
            if why is None:
                compared.wrong.append((base, one, other))
            else:
                self.changed |= {(table, base): why} if why != "equal" else {}
                compared.cells[why] += 1

    def _base(self, column: str) -> str:
        """Return the name of a column without the suffix of a variant or of a collision."""
        while (shorter := _VARIANT.sub("", self.met.get(column, column))) != column:
            column = shorter
        return column


def _difference(
    ours: Mapping[str, Any], others: Mapping[str, Any], own_types: Mapping[str, str], types: Mapping[str, str]
) -> str | None:
    """Return the name of an intended difference: dlt changed a value that penstock keeps in a variant."""
    if not others and all(one in NO_NUMBERS for one in ours.values()):
        return "not-a-number"
    if len(ours) != 1 or len(others) != 1:
        return None
    ((key, kept),), ((other, changed),) = ours.items(), others.items()
    kind, to = own_types[key], types[other]
    if (key, kind) == (other, to) or (_is_same(kept, changed) and _holds(to, changed)):
        return None
    if to == "bool":
        return "number-into-bool" if kind in NUMBERS else None
    return CHANGED.get(to)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: numbers are compared as numbers, whatever their types."""
    if isinstance(other, bool):
        return bool(one == other)
    try:
        return Decimal(str(one)) == Decimal(str(other))
    except ArithmeticError:
        return bool(one == other)


def _holds(column: str, found: Any) -> bool:
    """Return whether a column of this type can store the value of dlt, which may fail or round later."""
    match column:
        case "bigint":
            return bool(-(2**63) <= found < 2**63)
        case "decimal":
            return fits_decimal(found)
        case "wei":
            return bool(found == int(found)) and abs(found) < 10**38
        case _:
            return True
