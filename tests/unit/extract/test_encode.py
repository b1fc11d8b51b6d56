from __future__ import annotations

import base64
import json
import math
import uuid
from collections import UserDict
from dataclasses import InitVar, dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import orjson
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from penstock.extract.encode import encode
from penstock.package.tags import BYTES, DATE, DATETIME, DECIMAL, ESCAPED_TEXT, NON_FINITE, TIME, WEI

TAGS = [chr(code) for code in range(0xF026, 0xF030)]
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts.filter(lambda text: text[:1] not in TAGS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
tagged_texts = st.builds(lambda tag, rest: tag + rest, st.sampled_from(TAGS), texts)


@dataclass
class Point:
    x: float
    y: int = 2


class Model(BaseModel):
    a: Any


class Aliased(BaseModel):
    inner: Model
    some_key: int = Field(alias="someKey")


class Size(Enum):
    SMALL = "small"
    NOT_A_NUMBER = math.nan
    TAGGED = DECIMAL + "x"


def decoded(row: Any) -> Any:
    return orjson.loads(encode(row))


def value(python_value: Any) -> Any:
    return decoded({"v": python_value})["v"]


@given(row=st.dictionaries(texts, plain, max_size=5))
def test_plain_json_reads_back_equal(row: dict[str, Any]) -> None:
    assert json.loads(encode(row)) == row


@given(python_value=plain.filter(lambda python_value: not isinstance(python_value, dict)))
def test_a_row_that_is_no_object_is_wrapped_in_value(python_value: Any) -> None:
    assert json.loads(encode(python_value)) == {"value": python_value}


@pytest.mark.parametrize(
    ("python_value", "text"),
    [
        (Decimal("1.50"), DECIMAL + "1.50"),
        (Decimal("1E+3"), DECIMAL + "1000"),
        (Decimal("-0.000000001"), DECIMAL + "-0.000000001"),
        (datetime(2026, 1, 2, 3, 4, 5, 6, UTC), DATETIME + "2026-01-02T03:04:05.000006+00:00"),
        (datetime(2026, 1, 2, 3, 4, 5), DATETIME + "2026-01-02T03:04:05+00:00"),
        (
            datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=5))),
            DATETIME + "2026-01-01T22:00:00+00:00",
        ),
        (date(2026, 1, 2), DATE + "2026-01-02"),
        (time(3, 4, 5), TIME + "03:04:05"),
        (b"\x00\xff", BYTES + base64.b64encode(b"\x00\xff").decode()),
        (bytearray(b"ab"), BYTES + "YWI="),
        (memoryview(b"ab"), BYTES + "YWI="),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, 2), [1, 2]),
        ({7}, [7]),
        (frozenset(("a",)), ["a"]),
        (UserDict({"a": 1}), {"a": 1}),
        (Point(1.5), {"x": 1.5, "y": 2}),
        (Model(a=date(2026, 1, 2)), {"a": DATE + "2026-01-02"}),
    ],
)
def test_types_that_json_lacks_carry_a_tag(python_value: Any, text: Any) -> None:
    assert value(python_value) == text


@pytest.mark.parametrize("hidden", [1, "x", float("nan"), 2**70], ids=["plain", "text", "nan", "large"])
def test_tagged_values_do_not_depend_on_other_values_of_the_row(hidden: Any) -> None:
    row = {"when": date(2026, 1, 2), "inner": [{"price": Decimal("1.5")}], "other": hidden}

    result = decoded(row)

    assert (result["when"], result["inner"]) == (DATE + "2026-01-02", [{"price": DECIMAL + "1.5"}])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: inner,
        lambda inner: [inner],
        lambda inner: (1, inner),
        lambda inner: {"deep": [{"er": inner}]},
        lambda inner: UserDict({"a": inner}),
        lambda inner: Point(x=inner),
        lambda inner: Model(a=inner),
        lambda inner: {inner},
        lambda inner: [frozenset((1, inner))],
    ],
)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_not_null_at_any_position(wrap: Any, number: float) -> None:
    text = encode({"v": wrap(number)}).decode()

    assert f'"{NON_FINITE}{number}"' in text
    assert "null" not in text


def test_null_remains_null_beside_a_non_finite_number() -> None:
    assert decoded({"a": None, "b": math.nan}) == {"a": None, "b": NON_FINITE + "nan"}


@pytest.mark.parametrize("number", ["NaN", "-NaN", "Infinity", "-Infinity"])
def test_a_non_finite_decimal_is_tagged_like_a_float(number: str) -> None:
    assert value(Decimal(number)) == NON_FINITE + str(float(number))
    assert value(Decimal("sNaN")) == NON_FINITE + "nan"


@given(number=st.integers())
def test_integers_of_any_size_are_kept_to_the_last_digit(number: int) -> None:
    result = value(number)

    fits = -(2**63) <= number < 2**64
    assert result == (number if fits else f"{WEI}{number}")


@given(number=st.integers(2**64, 2**200))
def test_large_integers_are_tagged_at_any_position(number: int) -> None:
    assert value([{"a": (number,)}]) == [{"a": [f"{WEI}{number}"]}]


@given(text=tagged_texts)
def test_a_text_that_begins_with_a_tag_is_escaped(text: str) -> None:
    assert value(text) == ESCAPED_TEXT + text
    assert value([text, {"k": text}]) == [ESCAPED_TEXT + text, {"k": ESCAPED_TEXT + text}]


@given(text=texts.filter(lambda text: text[:1] not in TAGS), tag=st.sampled_from(TAGS))
def test_a_text_with_a_tag_after_its_first_character_is_unchanged(text: str, tag: str) -> None:
    assert value(f"a{tag}{text}") == f"a{tag}{text}"


def test_keys_of_other_types_become_texts() -> None:
    assert decoded({1: "a", None: "b", False: "c", 2.5: "d"}) == {
        "1": "a",
        "null": "b",
        "false": "c",
        "2.5": "d",
    }


def test_a_dataclass_and_a_model_are_rows() -> None:
    assert decoded(Point(1.0)) == {"x": 1.0, "y": 2}
    assert decoded(Model(a=1)) == {"a": 1}


def test_a_model_is_written_with_its_aliases() -> None:
    row = Aliased(inner=Model(a=date(2026, 1, 2)), someKey=7)

    assert decoded(row) == {"inner": {"a": DATE + "2026-01-02"}, "someKey": 7}


def test_an_enum_is_encoded_as_its_value() -> None:
    assert [value(size) for size in Size] == ["small", NON_FINITE + "nan", ESCAPED_TEXT + DECIMAL + "x"]


def test_values_of_numpy_and_pandas_are_encoded_as_python_values() -> None:
    row = {
        "int": np.int64(7),
        "float": np.float64(1.5),
        "nan": np.float64("nan"),
        "list": np.array([1.0, math.inf]),
        "at": pd.Timestamp("2026-01-02 03:04:05", tz="UTC"),
        "never": pd.NaT,
    }

    assert decoded(row) == {
        "int": 7,
        "float": 1.5,
        "nan": NON_FINITE + "nan",
        "list": [1.0, NON_FINITE + "inf"],
        "at": DATETIME + "2026-01-02T03:04:05+00:00",
        "never": None,
    }


@pytest.mark.parametrize("levels", [200, 300, 400])
def test_deep_rows_are_written_up_to_the_nesting_that_readers_support(levels: int) -> None:
    row: Any = 1
    for _ in range(levels):
        row = {"a": row}

    assert json.loads(encode(row)) == row


def test_surrogates_are_joined_and_keys_that_become_equal_are_both_kept() -> None:
    assert decoded({"v": "\ud83d\ude00"}) == {"v": "\N{GRINNING FACE}"}
    alike = {f"a{half}": number for number, half in enumerate("\ud800\udc00")}
    assert decoded(alike) == {"a\ufffd": 0, "a\ufffd\ufffd": 1}


def test_the_fields_of_a_dataclass_do_not_depend_on_its_values() -> None:
    @dataclass
    class Row:
        x: float
        shared: ClassVar[int] = 1
        _private: int = 2

    assert list(decoded(Row(math.nan))) == list(decoded(Row(1.0))) == ["x"]


def test_undeclared_attributes_of_a_dataclass_are_not_encoded() -> None:
    @dataclass
    class Row:
        x: float

        @cached_property
        def double(self) -> float:
            return self.x * 2

    rows = [Row(1.0), Row(math.nan)]
    doubled = [row.double for row in rows]

    assert len(doubled) == 2
    assert [list(decoded(row)) for row in rows] == [["x"], ["x"]]


def test_a_dataclass_type_is_no_row() -> None:
    with pytest.raises((orjson.JSONEncodeError, TypeError)):
        encode(Point)


def test_a_dataclass_with_an_init_only_argument_is_a_row() -> None:
    @dataclass
    class Row:
        x: float
        seed: InitVar[int]

        def __post_init__(self, seed: int) -> None:
            self.x += seed

    assert decoded(Row(math.nan, 1)) == {"x": NON_FINITE + "nan"}


@pytest.mark.parametrize("python_value", [object(), 1j, timedelta(1), lambda: 1])
def test_a_value_without_a_json_form_raises_a_known_error(python_value: Any) -> None:
    with pytest.raises((orjson.JSONEncodeError, TypeError, ValueError)):
        encode({"v": python_value})


def test_a_recursive_row_raises_a_known_error() -> None:
    row: dict[str, Any] = {}
    row["self"] = row

    with pytest.raises(ValueError, match="holds itself"):
        encode(row)
