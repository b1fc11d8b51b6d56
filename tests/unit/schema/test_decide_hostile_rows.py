"""Hostile rows: the columns that each must get, so that no value is lost and no run fails."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from penstock.schema import Schema, decide, gather, naming_convention
from penstock.schema.inference_options import InferenceOptions

EMPTY = Schema("shop").stored


def columns(rows: list[Any], table: str = "t") -> dict[str, str | None]:
    decision = decide(EMPTY, "t", gather(rows), InferenceOptions(naming=naming_convention("snake_case", 63)))
    table_columns = decision.schema.tables[table].columns
    return {name: column.data_type for name, column in table_columns.items() if not name.startswith("_dlt_")}


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("what", "rows", "expected"),
    [
        ("NaN", [{"a": NAN}], {"a": "double"}),
        ("Infinity", [{"a": INFINITY}, {"a": -INFINITY}], {"a": "double"}),
        ("NaN after a whole number", [{"a": 1}, {"a": NAN}], {"a": "bigint", "a__v_double": "double"}),
        ("text of a number past doubles", [{"a": 0.5}, {"a": "1e400"}], {"a": "double", "a__v_text": "text"}),
        ("minus zero", [{"a": -0.0}], {"a": "double"}),
        ("2^63-1", [{"a": 2**63 - 1}], {"a": "bigint"}),
        ("2^63", [{"a": 2**63}], {"a": "wei"}),
        ("2^64 after a small one", [{"a": 1}, {"a": 2**64}], {"a": "bigint", "a__v_wei": "wei"}),
        ("39 digits", [{"a": 1}, {"a": 10**38}], {"a": "bigint", "a__v_text": "text"}),
        ("5,000 digits", [{"a": 10**5000}], {"a": "text"}),
        ("50 fraction digits", [{"a": Decimal("0." + "1" * 50)}], {"a": "text"}),
        ("user id twice", [{"userId": 1, "user_id": 2}], {"user_id": "bigint", "user_id_ufiuqa": "bigint"}),
        ("an empty key", [{"": 1}], {"_empty": "bigint"}),
        ("a dot and an object", [{"a.b": 1, "a": {"b": 2}}], {"a_b": "bigint", "a__b": "bigint"}),
        ("only null", [{"a": None}], {}),
        ("an empty row", [{}], {}),
        ("empty object and list", [{"a": {}, "b": []}], {}),
        ("true, 1, 0.5", [{"a": True}, {"a": 1}, {"a": 0.5}], {"a": "bool", "a__v_double": "double"}),
        ("a day that is none", [{"a": "2024-02-30T25:61:61"}], {"a": "text"}),
        ("moment, then no", [{"a": "2024-01-02T03Z"}, {"a": "no"}], {"a": "timestamp", "a__v_text": "text"}),
        ("year 10000", [{"a": "10000-01-01T00:00:00"}], {"a": "text"}),
        ("leap second", [{"a": "2016-12-31T23:59:60Z"}], {"a": "text"}),
        ("+14:00", [{"a": "2024-01-01T00:00:00+14:00"}], {"a": "timestamp"}),
        ("before the year 1 in UTC", [{"a": "0001-01-01T00:00:00+01:00"}], {"a": "text"}),
        ("SQL", [{'x"); DROP TABLE t;--': 1}], {"x_drop_table_txxx": "bigint"}),
        ("a path", [{"../../etc/passwd": 1}], {"_etc_passwd": "bigint"}),
        ("a scalar row", ["word"], {"value": "text"}),
        ("NUL in a key", [{"a\x00b": 1}], {"a_b": "bigint"}),
    ],
)  # fmt: skip
def test_nothing_is_lost(what: str, rows: list[Any], expected: dict[str, str]) -> None:
    assert columns(rows) == expected, what


@pytest.mark.parametrize(
    "keys",
    [
        ("a", "A"),
        ("", " "),
        ("😀", "🎉"),
        ("\u00e9", "e\u0301"),
        ("\u0130", "i\u0307"),
        ("a__b", "A__b"),
        ("x" * 299 + "a", "x" * 299 + "b"),
        ("\u202eabc", "_abc"),
        ("x" * 10_000, "y"),
    ],
)
def test_two_keys_are_two_columns(keys: tuple[str, str]) -> None:
    names = columns([{keys[0]: 1, keys[1]: 2}])

    assert len(names) == 2
    assert all(0 < len(name) <= 63 for name in names)


def test_a_key_and_an_object_path_with_the_same_name_are_two_columns() -> None:
    assert len(columns([{"a__b": 1, "a": {"b": 2}}])) == 2


def test_a_list_of_all_types_has_a_column_for_each() -> None:
    rows = [{"l": [1, "x", None, {}, [3], {"value": 2.5}]}]

    assert columns(rows, "t__l") == {"value": "bigint", "value__v_text": "text", "value__v_double": "double"}
    assert columns(rows, "t__l__list") == {"value": "bigint"}


def test_a_key_with_values_of_all_types_has_a_column_for_each() -> None:
    rows = [{"a": 1}, {"a": "x"}, {"a": {"b": 2}}, {"a": [3]}]

    assert columns(rows) == {"a": "bigint", "a__v_text": "text", "a__b": "bigint"}
    assert columns(rows, "t__a") == {"value": "bigint"}


def test_a_row_of_ten_thousand_keys_has_as_many_columns() -> None:
    assert len(columns([{f"k{number}": number for number in range(10_000)}])) == 10_000


@pytest.mark.parametrize("depth", [500, 999, 3_000])
def test_very_deep_objects_are_kept_as_json(depth: int) -> None:
    deep: Any = 1
    for _ in range(depth):
        deep = {"a": deep}

    (column,) = columns([deep]).values()

    assert column == ("bigint" if depth <= 1000 else "json")
