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
class Kept:
    """A row that is extracted completely; `value` is the row in the file."""

    name: str
    row: Any
    value: Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class PutAside:
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


def kept(name: str, row: Any, value: Any = None) -> Kept:
    return Kept(name=name, row=row, value=row if value is None else value)


NUMBERS = [
    kept("NaN", {"v": float("nan")}, {"v": tags.NON_FINITE + "nan"}),
    kept("Infinity", {"v": float("inf")}, {"v": tags.NON_FINITE + "inf"}),
    kept("-Infinity", {"v": float("-inf")}, {"v": tags.NON_FINITE + "-inf"}),
    kept(
        "NaN inside a list inside an object",
        {"v": [{"w": float("nan")}]},
        {"v": [{"w": tags.NON_FINITE + "nan"}]},
    ),
    kept("minus zero", {"v": -0.0}),
    kept("the largest of 64 bits", {"v": 2**63 - 1}),
    kept("one past 64 bits", {"v": 2**63}, {"v": 2**63}),
    kept("2**64", {"v": 2**64}, {"v": tags.WEI + str(2**64)}),
    kept("38 digits", {"v": 10**38 - 1}, {"v": tags.WEI + str(10**38 - 1)}),
    kept("39 digits", {"v": 10**38 + 7}, {"v": tags.WEI + str(10**38 + 7)}),
    kept("5,000 digits", {"v": 10**4999}, {"v": tags.WEI + "1" + "0" * 4999}),
    kept(
        "a decimal with 50 digits behind the point",
        {"v": Decimal("0." + "1" * 50)},
        {"v": tags.DECIMAL + "0." + "1" * 50},
    ),
    kept("a decimal that is no number", {"v": Decimal("NaN")}, {"v": tags.NON_FINITE + "nan"}),
    kept("a decimal with an exponent", {"v": Decimal("1E+3")}, {"v": tags.DECIMAL + "1000"}),
    kept("true, 1 and 0.5", {"v": [True, 1, 0.5]}),
]

KEYS = [
    kept("a and A", {"a": 1, "A": 2}),
    kept("the empty key", {"": 1}),
    kept("a blank key", {" ": 1}),
    kept("userId and user_id", {"userId": 1, "user_id": 2}),
    kept("a.b beside a: b", {"a.b": 1, "a": {"b": 2}}),
    kept("a__b beside a: b", {"a__b": 1, "a": {"b": 2}}),
    kept("a backtick", {"a`b": 1}),
    kept("a quote", {'a"b': 1}),
    kept("a line break", {"a\nb": 1}),
    kept("a NUL", {"a\x00b": 1}),
    kept("two emojis", {"\N{GRINNING FACE}": 1, "\N{CAT FACE}": 2}),
    kept("a right-to-left override", {"\u202eabc": 1}),
    kept("composed and decomposed", {"\u00e9": 1, "e\u0301": 2}),
    kept("a Turkish i", {"\u0130": 1, "i\u0307": 2}),
    kept("a piece of SQL", {'x"); DROP TABLE t;--': 1}),
    kept("a path", {"../../etc/passwd": 1}),
    kept("10,000 characters", {"k" * 10_000: 1}),
    kept("two that differ at the end", {"k" * 300 + "1": 1, "k" * 300 + "2": 2}),
    kept("reserved words", {"select": 1, "from": 2, "order": 3}),
    kept("our own columns", {"_dlt_id": "mine", "_dlt_load_id": "mine"}),
    kept("Spark's own column", {"_corrupt_record": "mine"}),
    kept("keys that are numbers", {1: "a", 2.5: "b", False: "c"}, {"1": "a", "2.5": "b", "false": "c"}),
    kept("1 and its text", {1: "a", "1": "b"}, {"1": "a", "1\ufffd": "b"}),
    kept("a key that looks like a tag", {tags.DECIMAL + "k": 1}),
]

TEXTS = [
    kept("a NUL in a text", {"v": "a\x00b"}),
    kept("a lone high surrogate", {"v": "a\ud800b"}, {"v": "a\ufffdb"}),
    kept("a lone low surrogate", {"v": "a\udc00"}, {"v": "a\ufffd"}),
    kept("a lone surrogate in a key", {"a\ud800": 1}, {"a\ufffd": 1}),
    kept("a text that begins like a tag", {"v": tags.DATE + "x"}, {"v": tags.ESCAPED_TEXT + tags.DATE + "x"}),
    kept("the text of a tag alone", {"v": tags.ESCAPED_TEXT}, {"v": tags.ESCAPED_TEXT + tags.ESCAPED_TEXT}),
    kept("a formula", {"v": "=cmd|'/c calc'!A1"}),
    kept("25 MB", {"v": "x" * 25_000_000}),
    kept("control characters", {"v": "\x01\x1f\x7f\u2028"}),
]

SHAPES: list[Kept | PutAside] = [
    kept("a scalar", 7, {"value": 7}),
    kept("a text", "x", {"value": "x"}),
    kept("nothing", None, {"value": None}),
    kept("an empty object", {}, {}),
    kept("empty inside", {"a": {}, "b": []}),
    kept("all null", {"a": None}),
    kept("a mixed list", {"v": [1, "x", None, {}, [3]]}),
    kept("lists of lists", {"v": [[1], [], [[2]]]}),
    kept("100 levels", deep(100)),
    kept("900 levels", deep(900)),
    PutAside(name="1,100 levels", row=deep(1_100), reason="nested"),
    PutAside(name="10,000 levels", row=deep(10_000), reason="nested"),
    kept("10,000 keys", {f"k{number}": number for number in range(10_000)}),
]

VALUES: list[Kept | PutAside] = [
    kept("a set", {"v": {1}}, {"v": [1]}),
    kept("bytes", {"v": b"\x00\xff"}, {"v": tags.BYTES + "AP8="}),
    kept("a tuple", {"v": (1, 2)}, {"v": [1, 2]}),
    kept("an ordered dict", OrderedDict(a=1), {"a": 1}),
    kept("a UUID", {"v": uuid.UUID(int=1)}, {"v": "00000000-0000-0000-0000-000000000001"}),
    kept("an enum", {"v": Colour.RED}, {"v": "red"}),
    kept("a dataclass", Point(1, date(2024, 2, 29)), {"x": 1, "when": tags.DATE + "2024-02-29"}),
    kept(
        "a naive moment", {"v": datetime(2024, 1, 1, 12)}, {"v": tags.DATETIME + "2024-01-01T12:00:00+00:00"}
    ),
    kept(
        "a moment at +14:00",
        {"v": datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=14)))},
        {"v": tags.DATETIME + "2023-12-31T22:00:00+00:00"},
    ),
    kept("year 1", {"v": datetime(1, 1, 1, tzinfo=UTC)}, {"v": tags.DATETIME + "0001-01-01T00:00:00+00:00"}),
    kept("a time", {"v": time(1, 2, 3)}, {"v": tags.TIME + "01:02:03"}),
    PutAside(name="a complex number", row={"v": 1j}, reason="complex has no JSON form"),
    PutAside(name="an object without fields", row={"v": object()}, reason="object has no JSON form"),
]

ALL: list[Kept | PutAside] = [*NUMBERS, *KEYS, *TEXTS, *SHAPES, *VALUES]
