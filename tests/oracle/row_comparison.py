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
class BatchComparison:
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
            return {key: value(item) for key, item in coded.items()}
        case list():
            return [value(item) for item in coded]
        case _:
            return coded


def with_row_numbers(tables: Tables) -> Tables:
    """Return the rows with the number of a row instead of its id: ids differ between the tools."""
    numbers = {row["_dlt_id"]: number for rows in tables.values() for number, row in enumerate(rows)}
    return {
        name: [
            {key: numbers.get(result, result) if key in LINKS else result for key, result in row.items()}
            for row in rows
        ]
        for name, rows in tables.items()
    }


def decode_answer(answer: Mapping[str, Any]) -> Tables:
    """Return the rows of dlt in the format of `reference_tables`."""
    return {
        name: [
            {
                key: item if key in LINKS else _shown(value(item), types_of(answer)[name][key])
                for key, item in row.items()
                if key != "_dlt_load_id" and item is not None
            }
            for row in rows
        ]
        for name, rows in answer["values"].items()
    }


def _shown(result: Any, to: str) -> Any:
    try:
        return comparable(result, to)
    except (TypeError, AttributeError):
        # If two keys have one name, dlt may store a value in a column of another type.
        return result


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

    def compare(self, actual: Tables, answer: Mapping[str, Any], decision: Decision) -> BatchComparison:
        """Compare all tables, row by row, and cell by cell."""
        self.met |= {collision.assigned_name: collision.plain_name for collision in decision.collisions}
        met = {*self.met, *self.met.values()}
        compared = BatchComparison()
        own, expected, types = (
            with_row_numbers(actual),
            with_row_numbers(decode_answer(answer)),
            types_of(answer),
        )
        for name in sorted({*own, *expected}):
            rows, others = own.get(name, []), expected.get(name, [])
            if any(name == item or name.startswith(f"{item}__") for item in met):
                compared.cells[TWO_KEYS] += 1
            elif len(rows) != len(others):
                compared.wrong.append((name, rows, others))
            else:
                columns = decision.schema.tables[name].columns
                own_types = {column: facts.data_type or "" for column, facts in columns.items()}
                for row, second in zip(rows, others, strict=True):
                    self._compare_row(name, row, second, own_types, types[name], compared)
        return compared

    def _compare_row(
        self,
        table: str,
        actual: Mapping[str, Any],
        others: Mapping[str, Any],
        own_types: Mapping[str, str],
        types: Mapping[str, str],
        compared: BatchComparison,
    ) -> None:
        groups: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for index, row in enumerate((actual, others)):
            for key, result in row.items():
                base = self._base(key)
                groups.setdefault(base, ({}, {}))[index][key] = result
        meeting = {self._base(name) for name in self.met.values()}
        for base, (group, second) in groups.items():
            why = "equal" if group == second else TWO_KEYS if base in meeting else None
            why = why or _difference(group, second, own_types, types)
            if why is None and list(group.values()) == list(second.values()):
                # After a value was stored in a variant, variants have other types, and so other names.
                why = self.changed.get((table, base))
            if why is None:
                compared.wrong.append((base, group, second))
            else:
                self.changed |= {(table, base): why} if why != "equal" else {}
                compared.cells[why] += 1

    def _base(self, column: str) -> str:
        """Return the name of a column without the suffix of a variant or of a collision."""
        while (shorter := _VARIANT.sub("", self.met.get(column, column))) != column:
            column = shorter
        return column


def _difference(
    actual: Mapping[str, Any],
    others: Mapping[str, Any],
    own_types: Mapping[str, str],
    types: Mapping[str, str],
) -> str | None:
    """Return the name of an intended difference: dlt changed a value that penstock keeps in a variant."""
    if not others and all(our in NO_NUMBERS for our in actual.values()):
        return "not-a-number"
    if len(actual) != 1 or len(others) != 1:
        return None
    ((key, remaining),), ((second, changed),) = actual.items(), others.items()
    kind, to = own_types[key], types[second]
    if (key, kind) == (second, to) or (_is_same(remaining, changed) and _holds(to, changed)):
        return None
    if to == "bool":
        return "number-into-bool" if kind in NUMBERS else None
    return CHANGED.get(to)


def _is_same(first: Any, second: Any) -> bool:
    """Return whether two values are equal: numbers are compared as numbers, whatever their types."""
    if isinstance(second, bool):
        return bool(first == second)
    try:
        return Decimal(str(first)) == Decimal(str(second))
    except ArithmeticError:
        return bool(first == second)


def _holds(column: str, result: Any) -> bool:
    """Return whether a column of this type can store the value of dlt, which may fail or round later."""
    match column:
        case "bigint":
            return bool(-(2**63) <= result < 2**63)
        case "decimal":
            return fits_decimal(result)
        case "wei":
            return bool(result == int(result)) and abs(result) < 10**38
        case _:
            return True
