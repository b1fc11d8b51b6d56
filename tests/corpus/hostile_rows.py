"""Hostile rows: unusual numbers, keys, texts, shapes and Python values.

Each has its JSON value in the extracted file, with tags by name, or the reason for its quarantine.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

from penstock.package import tags


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExtractedRow:
    """A row that is extracted completely; `value` is the row in the file."""

    name: str
    row: Any
    value: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuarantinedRow:
    """A row without a JSON form; it is quarantined with the reason, and the others are extracted."""

    name: str
    row: Any
    reason: str


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    when: date


def deep(levels: int) -> dict[str, Any]:
    row: dict[str, Any] = {"end": 1}
    for _ in range(levels):
        row = {"a": row}
    return row


def extracted_row(name: str, row: Any, value: Any = None) -> ExtractedRow:
    return ExtractedRow(name=name, row=row, value=row if value is None else value)


NUMBERS = [
    extracted_row("NaN", {"v": float("nan")}, {"v": tags.NON_FINITE + "nan"}),
    extracted_row("Infinity", {"v": float("inf")}, {"v": tags.NON_FINITE + "inf"}),
    extracted_row("-Infinity", {"v": float("-inf")}, {"v": tags.NON_FINITE + "-inf"}),
    extracted_row(
        "NaN inside a list inside an object",
        {"v": [{"w": float("nan")}]},
        {"v": [{"w": tags.NON_FINITE + "nan"}]},
    ),
    extracted_row("minus zero", {"v": -0.0}),
    extracted_row("the largest of 64 bits", {"v": 2**63 - 1}),
    extracted_row("one past 64 bits", {"v": 2**63}, {"v": 2**63}),
    extracted_row("2**64", {"v": 2**64}, {"v": tags.WEI + str(2**64)}),
    extracted_row("38 digits", {"v": 10**38 - 1}, {"v": tags.WEI + str(10**38 - 1)}),
    extracted_row("39 digits", {"v": 10**38 + 7}, {"v": tags.WEI + str(10**38 + 7)}),
    extracted_row("5,000 digits", {"v": 10**4999}, {"v": tags.WEI + "1" + "0" * 4999}),
    extracted_row(
        "a decimal with 50 digits behind the point",
        {"v": Decimal("0." + "1" * 50)},
        {"v": tags.DECIMAL + "0." + "1" * 50},
    ),
    extracted_row("a decimal that is no number", {"v": Decimal("NaN")}, {"v": tags.NON_FINITE + "nan"}),
    extracted_row("a decimal with an exponent", {"v": Decimal("1E+3")}, {"v": tags.DECIMAL + "1000"}),
    extracted_row("true, 1 and 0.5", {"v": [True, 1, 0.5]}),
]

KEYS = [
    extracted_row("a and A", {"a": 1, "A": 2}),
    extracted_row("the empty key", {"": 1}),
    extracted_row("a blank key", {" ": 1}),
    extracted_row("userId and user_id", {"userId": 1, "user_id": 2}),
    extracted_row("a.b beside a: b", {"a.b": 1, "a": {"b": 2}}),
    extracted_row("a__b beside a: b", {"a__b": 1, "a": {"b": 2}}),
    extracted_row("a backtick", {"a`b": 1}),
    extracted_row("a quote", {'a"b': 1}),
    extracted_row("a line break", {"a\nb": 1}),
    extracted_row("a NUL", {"a\x00b": 1}),
    extracted_row("two emojis", {"\N{GRINNING FACE}": 1, "\N{CAT FACE}": 2}),
    extracted_row("a right-to-left override", {"\u202eabc": 1}),
    extracted_row("composed and decomposed", {"\u00e9": 1, "e\u0301": 2}),
    extracted_row("a Turkish i", {"\u0130": 1, "i\u0307": 2}),
    extracted_row("a piece of SQL", {'x"); DROP TABLE t;--': 1}),
    extracted_row("a path", {"../../etc/passwd": 1}),
    extracted_row("10,000 characters", {"k" * 10_000: 1}),
    extracted_row("two that differ at the end", {"k" * 300 + "1": 1, "k" * 300 + "2": 2}),
    extracted_row("reserved words", {"select": 1, "from": 2, "order": 3}),
    extracted_row("our own columns", {"_dlt_id": "mine", "_dlt_load_id": "mine"}),
    extracted_row("Spark's own column", {"_corrupt_record": "mine"}),
    extracted_row(
        "keys that are numbers", {1: "a", 2.5: "b", False: "c"}, {"1": "a", "2.5": "b", "false": "c"}
    ),
    extracted_row("1 and its text", {1: "a", "1": "b"}, {"1": "a", "1\ufffd": "b"}),
    extracted_row("a key that looks like a tag", {tags.DECIMAL + "k": 1}),
]

TEXTS = [
    extracted_row("a NUL in a text", {"v": "a\x00b"}),
    extracted_row("a lone high surrogate", {"v": "a\ud800b"}, {"v": "a\ufffdb"}),
    extracted_row("a lone low surrogate", {"v": "a\udc00"}, {"v": "a\ufffd"}),
    extracted_row("a lone surrogate in a key", {"a\ud800": 1}, {"a\ufffd": 1}),
    extracted_row(
        "a text that begins like a tag", {"v": tags.DATE + "x"}, {"v": tags.ESCAPED_TEXT + tags.DATE + "x"}
    ),
    extracted_row(
        "the text of a tag alone", {"v": tags.ESCAPED_TEXT}, {"v": tags.ESCAPED_TEXT + tags.ESCAPED_TEXT}
    ),
    extracted_row("a formula", {"v": "=cmd|'/c calc'!A1"}),
    extracted_row("25 MB", {"v": "x" * 25_000_000}),
    extracted_row("control characters", {"v": "\x01\x1f\x7f\u2028"}),
]

SHAPES: list[ExtractedRow | QuarantinedRow] = [
    extracted_row("a scalar", 7, {"value": 7}),
    extracted_row("a text", "x", {"value": "x"}),
    extracted_row("nothing", None, {"value": None}),
    extracted_row("an empty object", {}, {}),
    extracted_row("empty inside", {"a": {}, "b": []}),
    extracted_row("all null", {"a": None}),
    extracted_row("a mixed list", {"v": [1, "x", None, {}, [3]]}),
    extracted_row("lists of lists", {"v": [[1], [], [[2]]]}),
    extracted_row("100 levels", deep(100)),
    extracted_row("900 levels", deep(900)),
    QuarantinedRow(name="1,100 levels", row=deep(1_100), reason="nested"),
    QuarantinedRow(name="10,000 levels", row=deep(10_000), reason="nested"),
    extracted_row("10,000 keys", {f"k{number}": number for number in range(10_000)}),
]

VALUES: list[ExtractedRow | QuarantinedRow] = [
    extracted_row("a set", {"v": {1}}, {"v": [1]}),
    extracted_row("bytes", {"v": b"\x00\xff"}, {"v": tags.BYTES + "AP8="}),
    extracted_row("a tuple", {"v": (1, 2)}, {"v": [1, 2]}),
    extracted_row("an ordered dict", OrderedDict(a=1), {"a": 1}),
    extracted_row("a UUID", {"v": uuid.UUID(int=1)}, {"v": "00000000-0000-0000-0000-000000000001"}),
    extracted_row("an enum", {"v": Colour.RED}, {"v": "red"}),
    extracted_row("a dataclass", Point(1, date(2024, 2, 29)), {"x": 1, "when": tags.DATE + "2024-02-29"}),
    extracted_row(
        "a naive moment", {"v": datetime(2024, 1, 1, 12)}, {"v": tags.DATETIME + "2024-01-01T12:00:00+00:00"}
    ),
    extracted_row(
        "a moment at +14:00",
        {"v": datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=14)))},
        {"v": tags.DATETIME + "2023-12-31T22:00:00+00:00"},
    ),
    extracted_row(
        "year 1", {"v": datetime(1, 1, 1, tzinfo=UTC)}, {"v": tags.DATETIME + "0001-01-01T00:00:00+00:00"}
    ),
    extracted_row("a time", {"v": time(1, 2, 3)}, {"v": tags.TIME + "01:02:03"}),
    QuarantinedRow(name="a complex number", row={"v": 1j}, reason="complex has no JSON form"),
    QuarantinedRow(name="an object without fields", row={"v": object()}, reason="object has no JSON form"),
]

ALL: list[ExtractedRow | QuarantinedRow] = [*NUMBERS, *KEYS, *TEXTS, *SHAPES, *VALUES]
