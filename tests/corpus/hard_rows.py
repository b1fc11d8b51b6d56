"""Handwritten row sets, each with a different difficulty."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

MOMENT: Final = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)

HARD: Final[dict[str, list[Any]]] = {
    "a whole number, then a fraction": [{"a": 1}, {"a": 2.5}, {"a": 3.0}],
    "a fraction, then whole numbers": [{"a": 2.5}, {"a": 1}, {"a": 2**53 + 1}],
    "a number, then texts of numbers": [{"a": 1}, {"a": "2"}, {"a": " 3 "}, {"a": "0x1F"}, {"a": "four"}],
    "a text, then everything": [{"a": "x"}, {"a": 1}, {"a": 1.5}, {"a": True}, {"a": MOMENT}, {"a": b"z"}],
    "a boolean, then numbers": [{"a": True}, {"a": 1}, {"a": 0.0}, {"a": 2}, {"a": "yes"}],
    "moments as texts and as themselves": [{"a": "2024-01-02T03:04:05Z"}, {"a": MOMENT}, {"a": "2024-01-02"}],
    "a moment, then an epoch": [{"a": MOMENT}, {"a": 1_700_000_000}, {"a": 1.5}, {"a": "1700000000"}],
    "a moment with a zone": [{"a": "2024-01-02T03:04:05+01:00"}, {"a": "2024-01-02T03:04-0530"}],
    "a moment with many digits": [{"a": "2024-01-02T03:04:05.123456789Z"}, {"a": "2024-01-02T03:04:05,5"}],
    "a basic moment": [{"a": "20240102T030405"}, {"a": "2024-01-02 03:04"}],
    "a moment, then a date": [{"a": MOMENT}, {"a": date(2024, 5, 6)}],
    "a date, then a moment at midnight": [{"a": date(2024, 5, 6)}, {"a": datetime(2024, 5, 7, tzinfo=UTC)}],
    "a time, then texts": [{"a": time(1, 2)}, {"a": "03:04:05"}, {"a": "late"}],
    "a decimal, then numbers": [{"a": Decimal("1.10")}, {"a": 2}, {"a": 0.1}, {"a": "3.50"}, {"a": 1e-12}],
    "decimals of many digits": [{"a": Decimal("123456789.123456789")}, {"a": Decimal("0." + "1" * 20)}],
    "bytes, then texts": [{"a": b"\x00"}, {"a": "YWI="}, {"a": "0x00ff"}, {"a": "no bytes"}, {"a": 258}],
    "an object, then a number": [{"a": {"b": 1}}, {"a": 5}],
    "a number, then an object with a list": [{"a": 5}, {"a": {"b": [1, {"c": 2}]}}],
    "a list, then a text": [{"a": [1]}, {"a": "x"}],
    "a list, then an object": [{"a": [1]}, {"a": {"b": 2}}],
    "an object that is empty at first": [{"a": {}}, {"a": {"b": 1}}],
    "a list that is empty at first": [{"a": []}, {"a": [1]}, {"a": [None]}],
    "lists of objects of other shapes": [{"a": [{"x": 1}, {"y": "z"}, {}, {"x": {"w": 1}}]}],
    "lists of lists of lists": [{"a": [[[1, 2], []], [], [[3]]]}],
    "a list of everything": [{"a": [1, "x", None, 2.5, True, {"k": 1}, [2], MOMENT, b"b"]}],
    "an element called value": [{"a": [1, {"value": 2}, {"value": "x"}]}],
    "an element called list": [{"a": [[1], {"list": [2, "x"]}, {"list": 3}]}],
    "nulls everywhere": [{"a": None, "b": {"c": None}, "d": [None, {"e": None}]}, {"a": 1}],
    "a key with a quote and a dot": [{'a"b.c': 1, "d'e": {'f"g': [1]}}],
    "a key with a quote where types are mixed": [{"m": {'f"g': 1}}, {"m": 1}],
    "an empty key where types are mixed": [{"m": {"": 1, "x y": [2]}}, {"m": "t"}],
    "two spellings of one name": [{"userId": 1, "user_id": 2}, {"user_id": 3}],
    "a separator in a key": [{"a__b": 1, "a": {"b": 2}}],
    "a column of the engine": [{"_dlt_id": "mine", "x": [1]}, {"_dlt_load_id": "theirs"}],
    "texts that look like JSON": [{"a": '{"b": 1}'}, {"a": "[1]"}, {"a": '"'}, {"a": "\\"}],
    "numbers at the edge": [{"a": 2**63 - 1}, {"a": -(2**63)}, {"a": 0}],
    "numbers past the edge": [{"a": 2**63}, {"a": 1}, {"a": 2**64 - 1}],
    "fractions at the edge": [{"a": 5e-324}, {"a": 1.7976931348623157e308}, {"a": 0.1}, {"a": 1e16}],
    "what is no number": [{"a": float("nan")}, {"a": 1.5}, {"a": float("-inf")}],
    "texts with tags": [{"a": "\uf026"}, {"a": "x"}, {"b": ["\uf02f", 1]}],
    "a row that is no object": [7, "x", None, {"value": 2.5}, [1, 2]],
}
