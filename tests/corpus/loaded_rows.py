"""Hostile rows, and the content of the tables after a whole run.

All of them are rows of one table in one run. Each has a unique key, `k0`, `k1`, …, and
`expected` are the columns of its row that have a value, without that key. A `*` is a tag of a key.
"""

from __future__ import annotations

import dataclasses
import math
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

from tests.corpus.hostile_rows import Colour, Point, deep

from penstock.normalize.prior_schema import MAX_NESTING

NAN: Final = "no number"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """Values of one key in consecutive rows, and the columns of each row."""

    name: str
    values: list[Any]
    expected: list[dict[str, Any]]
    children: dict[str, list[dict[str, Any]]]
    """The rows of nested tables, by the ends of their names."""


def single_value(name: str, value: Any, expected: Any, **children: list[dict[str, Any]]) -> Result:
    """Return a result of a single value; `expected` may be the value of the plain column."""
    columns = expected if isinstance(expected, dict) else {"": expected}
    return Result(name=name, values=[value], expected=[columns], children=children)


def several_values(name: str, *pairs: tuple[Any, dict[str, Any]], **children: list[dict[str, Any]]) -> Result:
    """Return a result of several values under one key."""
    values, expected = zip(*pairs, strict=True)
    return Result(name=name, values=list(values), expected=list(expected), children=children)


def micros(moment: datetime) -> int:
    """Return a timestamp as tables store it."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
WIDE: Final = "123456789012345678.12345678901234567890"
LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

NUMBERS: Final = [
    single_value("NaN", math.nan, NAN),
    single_value("Infinity", math.inf, math.inf),
    single_value("-Infinity", -math.inf, -math.inf),
    several_values("NaN among whole numbers", (1, {"": 1}), (math.nan, {"__v_double": NAN})),
    several_values(
        "NaN among decimals", (Decimal("1.5"), {"": Decimal("1.5")}), (math.nan, {"__v_double": NAN})
    ),
    several_values("the text 1e400 among fractions", (1.5, {"": 1.5}), ("1e400", {"__v_text": "1e400"})),
    single_value("zero, negative", -0, 0),
    single_value("a fraction that is zero, negative", -0.0, -0.0),
    single_value("2**63 - 1", 2**63 - 1, 2**63 - 1),
    single_value("2**63", 2**63, Decimal(2**63)),
    single_value("2**64", 2**64, Decimal(2**64)),
    several_values("2**64 among whole numbers", (1, {"": 1}), (2**64, {"__v_wei": Decimal(2**64)})),
    single_value("a whole number as a fraction", 9007199254740992.0, 9007199254740992.0),
    several_values(
        "large fractions and whole numbers", (1e16, {"": 1e16}), (10**16 + 1, {"__v_bigint": 10**16 + 1})
    ),
    single_value("38 digits", 10**38 - 1, Decimal(10**38 - 1)),
    single_value("39 digits", 10**38 + 7, str(10**38 + 7)),
    single_value("5,000 digits", 10**4999, "1" + "0" * 4999),
    single_value("18 and 20 digits", Decimal(WIDE), WIDE),
    single_value("50 digits behind the point", Decimal("0." + "1" * 50), "0." + "1" * 50),
    single_value("a decimal that is no number", Decimal("NaN"), NAN),
    several_values(
        "true, 1 and 0.5", (True, {"": True}), (1, {"": True}), (0.5, {"__v_double": 0.5}), (0, {"": False})
    ),
]

KEYS: Final = [
    single_value("a and A", {"a": 1, "A": 2}, {"__a": 1, "__a_*": 2}),
    single_value("no key", {"": 1}, {"___empty": 1}),
    single_value("a blank", {" ": 1}, {"___empty": 1}),
    single_value("no key and a blank", {"": 1, " ": 2}, {"___empty": 1, "___empty_*": 2}),
    single_value("userId and user_id", {"userId": 1, "user_id": 2}, {"__user_id": 1, "__user_id_*": 2}),
    single_value("a.b beside a: b", {"a.b": 1, "a": {"b": 2}}, {"__a_b": 1, "__a__b": 2}),
    single_value("a__b beside a: b", {"a__b": 1, "a": {"b": 2}}, {"__a__b": 1, "__a__b_*": 2}),
    single_value("a backtick", {"a`b": 1}, {"__a_b": 1}),
    single_value("a quote", {'a"b': 1}, {"__a_b": 1}),
    single_value("both quotes", {"a\"b'c": 1}, {"__a_b_c": 1}),
    single_value("a line break", {"a\nb": 1}, {"__a_b": 1}),
    single_value("NUL in a key", {"a\x00b": 1}, {"__a_b": 1}),
    single_value("an emoji", {"\N{GRINNING FACE}": 1}, {"__x": 1}),
    single_value("two emojis", {"\N{GRINNING FACE}": 1, "\N{CAT FACE}": 2}, {"__x": 1, "__x_*": 2}),
    single_value("a right-to-left override", {"\u202eabc": 1}, {"___abc": 1}),
    single_value("composed and decomposed", {"\u00e9": 1, "e\u0301": 2}, {"__x": 1, "__ex": 2}),
    single_value("a Turkish i", {"\u0130": 1, "i\u0307": 2}, {"__x": 1, "__ix": 2}),
    single_value("SQL", {'x"); DROP TABLE t;--': 1}, {"__x_drop_table_txxx": 1}),
    single_value("a path", {"../../etc/passwd": 1}, {"___etc_passwd": 1}),
    single_value("10,000 characters", {"k" * 10_000: 1}, {"__kkk*": 1}),
    single_value(
        "two that differ at the end", {"k" * 300 + "1": 1, "k" * 300 + "2": 2}, {"__kkk*1": 1, "__kkk*2": 2}
    ),
    single_value(
        "reserved words", {"select": 1, "from": 2, "null": 3}, {"__select": 1, "__from": 2, "__null": 3}
    ),
    single_value("keys that are numbers", {1: 1, "1": 2, 2.5: 3}, {"___1": 1, "___1x": 2, "___2_5": 3}),
    single_value("a half surrogate in a key", {"a\ud800": 1}, {"__ax": 1}),
    several_values(
        "both quotes where types are mixed",
        ({"a\"b'c": 1}, {"__a_b_c": 1}),
        (5, {"": 5}),
        ("x", {"__v_text": "x"}),
    ),
]

TEXTS: Final = [
    single_value("NUL in a text", "a\x00b", "a\x00b"),
    single_value("a high surrogate alone", "a\ud800b", "a\ufffdb"),
    single_value("a low surrogate alone", "\udc00x", "\ufffdx"),
    single_value("a formula", "=cmd|'/c calc'!A1", "=cmd|'/c calc'!A1"),
    single_value("control characters", "\x01\x1f\x7f\u2028", "\x01\x1f\x7f\u2028"),
    several_values("a mark of ours", ("\uf026x", {"": "\uf026x"}), ("\uf02f", {"": "\uf02f"})),
    single_value("a date", "2024-01-01", "2024-01-01"),
    single_value("a moment", "2024-01-01T12:00:00Z", micros(NOON)),
    single_value("a month that is none", "2024-13-01", "2024-13-01"),
    single_value("a date of zeros", "0000-00-00", "0000-00-00"),
    single_value("an epoch", 1_700_000_000, 1_700_000_000),
    single_value("a moment that is none", "2024-02-30T25:61:61", "2024-02-30T25:61:61"),
    several_values(
        "a moment, then none",
        ("2024-01-01T12:00:00Z", {"": micros(NOON)}),
        ("not a date", {"__v_text": "not a date"}),
    ),
    several_values(
        "moments at the edges",
        (datetime(1, 1, 1, tzinfo=UTC), {"": micros(datetime(1, 1, 1, tzinfo=UTC))}),
        ("9999-12-31T23:59:59.999999Z", {"": micros(LAST)}),
        ("2016-12-31T23:59:60Z", {"__v_text": "2016-12-31T23:59:60Z"}),
        ("10000-01-01T00:00:00Z", {"__v_text": "10000-01-01T00:00:00Z"}),
        ("2024-01-02T02:00:00+14:00", {"": micros(NOON)}),
    ),
]

SHAPES: Final = [
    single_value("empty inside", {"a": {}, "b": []}, {}),
    single_value("nothing but null", {"a": None}, {}),
    several_values(
        "a number, a text, an object, a list",
        (1, {"": 1}),
        ("x", {"__v_text": "x"}),
        ({"b": 1}, {"__b": 1}),
        ([1], {}),
        __=[{"value": 1}],
    ),
    single_value(
        "a list of everything",
        [1, "x", None, {}, [3], 2.5],
        {},
        __=[{"value": 1}, {"value__v_text": "x"}, {}, {}, {}, {"value__v_double": 2.5}],
        __list=[{"value": 3}],
    ),
    single_value(
        "lists of lists",
        [[1], [], [[2]]],
        {},
        __=[{}, {}, {}],
        __list=[{"value": 1}, {}],
        __list__list=[{"value": 2}],
    ),
    single_value("900 levels", deep(900), {"__a*": deep(900 - MAX_NESTING)}),
]

VALUES: Final = [
    single_value("a set", {1}, {}, __=[{"value": 1}]),
    single_value("a tuple", (1, 2), {}, __=[{"value": 1}, {"value": 2}]),
    single_value("bytes", b"\x00\xff", b"\x00\xff"),
    single_value("a UUID", uuid.UUID(int=1), str(uuid.UUID(int=1))),
    single_value("an enum", Colour.RED, "red"),
    single_value("a dataclass", Point(1, date(2024, 2, 29)), {"__x": 1, "__when": date(2024, 2, 29)}),
    single_value("a moment without a zone", datetime(2024, 1, 1, 12), micros(NOON)),
    single_value(
        "a moment at +14:00", datetime(2024, 1, 2, 2, tzinfo=timezone(timedelta(hours=14))), micros(NOON)
    ),
    single_value("a time", time(1, 2, 3), "01:02:03"),
]

ALL: Final = [*NUMBERS, *KEYS, *TEXTS, *SHAPES, *VALUES]

QUARANTINED: Final = {
    "a complex number": ({"v": 1j}, "complex has no JSON form"),
    "an object without fields": ({"v": object()}, "object has no JSON form"),
    "1,100 levels": (deep(1_100), "it is nested too deeply, or holds itself"),
    "10,000 levels": (deep(10_000), "it is nested too deeply, or holds itself"),
}
"""Rows that cannot be written, and the reason of their quarantine."""

NO_JSON: Final[dict[str, bytes]] = {
    "NaN": b'{"a":NaN}',
    "1e400": b'{"a":1e400}',
    "a key twice": b'{"a":1,"a":2}',
    "half a surrogate pair in bytes": b'{"a":"\xed\xa0\x80"}',
    "no UTF-8": b'{"a":"\xff"}',
    "an overlong slash": b'{"a":"\xc0\xaf"}',
    "a byte order mark": b'\xef\xbb\xbf{"a":1}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "a raw control character": b'{"a":"\x01"}',
    "cut off": b'{"a":1',
    "something behind": b'{"a":1}xyz',
    "two documents": b'{"a":1}{"a":2}',
    "a comma too many": b'{"a":1,}',
    "single quotes": b"{'a':1}",
    "a comment": b'{"a":1 /* one */}',
    "an empty line": b"",
    "nothing": b"null",
    "a list": b'[{"a":1}]',
}
"""Lines that are not JSON, or not one object, in a file of another tool."""
