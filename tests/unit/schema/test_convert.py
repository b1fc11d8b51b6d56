from __future__ import annotations

import base64
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema.convert import PLAIN_TEXT_INITIALS, convert_value, fitting_types, is_always_convertible
from penstock.schema.iso import parse_date_or_datetime
from penstock.schema.observation import detected_type, observe_value, typed_value
from penstock.schema.types import DATA_TYPES, DataType

MOMENT = datetime(2024, 1, 2, 3, 4, tzinfo=UTC)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", "text"),
        (1, "bigint"),
        (1.5, "double"),
        (True, "bool"),
        (Decimal("1.5"), "decimal"),
        (MOMENT, "timestamp"),
        (date(2024, 1, 2), "date"),
        (time(3, 4), "time"),
        (b"ab", "binary"),
        (bytearray(b"ab"), "binary"),
        ({"a": 1}, "object"),
        ([1], "list"),
        ((1,), "list"),
        (None, "null"),
        (UUID(int=1), "text"),
        (Colour.RED, "text"),
        (2**63 - 1, "bigint"),
        (-(2**63), "bigint"),
        (2**63, "wei"),
        (10**38 - 1, "wei"),
        (10**38, "text"),
        (float("nan"), "double"),
        (float("-inf"), "double"),
        (Decimal("NaN"), "double"),
        (Decimal(1) / Decimal(3), "text"),
        (Decimal(10**29), "text"),
        (-0.0, "double"),
    ],
)
def test_every_value_has_a_type(value: Any, expected: str) -> None:
    assert observe_value(value).type == expected


def test_an_unsupported_type_is_named_in_the_error() -> None:
    with pytest.raises(TypeError, match="object is not a type of values in rows"):
        observe_value(object())


def test_conversion_to_text_rounds_nothing() -> None:
    assert typed_value(10**5000) == ("text", "1" + "0" * 5000)
    assert typed_value(10**40) == ("text", "1" + "0" * 40)
    assert typed_value(Decimal("0.1234567890123")) == ("text", "0.1234567890123")


@pytest.mark.parametrize(
    ("value", "to", "expected"),
    [
        (3.0, "bigint", 3),
        ("0x1F", "bigint", 31),
        (" 7 ", "bigint", 7),
        (Decimal("5.0"), "bigint", 5),
        ("1.10", "double", 1.1),
        (7, "double", 7.0),
        ("nan", "double", None),
        (1, "bool", True),
        (0.0, "bool", False),
        ("YES", "bool", True),
        ("n", "bool", False),
        (1.0, "text", "1.0"),
        (Decimal("1.10"), "text", "1.10"),
        (True, "text", "True"),
        (b"ab", "text", "YWI="),
        (MOMENT, "text", "2024-01-02T03:04:00+00:00"),
        ("YWI=", "binary", b"ab"),
        ("0xab", "binary", b"\xab"),
        (258, "binary", b"\x02\x01"),
        (0, "timestamp", datetime(1970, 1, 1, tzinfo=UTC)),
        ("2024-01-02T04:04+01:00", "timestamp", MOMENT),
        (date(2024, 1, 2), "timestamp", MOMENT.replace(hour=0, minute=0)),
        ("2024-01-02", "date", date(2024, 1, 2)),
        (86_400, "date", date(1970, 1, 2)),
        ("03:04", "time", time(3, 4)),
        ('{"a": 1}', "json", {"a": 1}),
        (0.1, "decimal", Decimal("0.1")),
        ("12.5", "decimal", Decimal("12.5")),
    ],
)
def test_values_are_converted_as_in_dlt(value: Any, to: DataType, expected: Any) -> None:
    kind, plain = typed_value(value)

    result = convert_value(plain, kind, to)

    assert result == expected if expected is not None else result != result  # noqa: PLR0124  NaN
    assert to in observe_value(value).fits


def test_containers_convert_to_compact_json() -> None:
    assert convert_value({"b": [1, "é"], "a": None}, "json", "text") == '{"b":[1,"é"],"a":null}'


@pytest.mark.parametrize(
    ("value", "to"),
    [
        (3.7, "bigint"),
        (True, "bigint"),
        (True, "double"),
        (True, "decimal"),
        (2, "bool"),
        (0.5, "bool"),
        ("maybe", "bool"),
        (2**53 + 1, "double"),
        ("1e400", "double"),
        (Decimal("0.12345678901234567891"), "double"),
        (1e300, "bigint"),
        (1e300, "decimal"),
        (1e-12, "decimal"),
        ("NaN", "decimal"),
        (Decimal("1.5"), "wei"),
        (2**63 - 1, "timestamp"),
        (MOMENT, "date"),
        ("2024-01-02T03:04", "date"),
        (5, "date"),
        (-1, "binary"),
        ("abc", "binary"),
        ("{a}", "json"),
        (float("nan"), "bigint"),
        (float("nan"), "timestamp"),
        ("x", "time"),
        (MOMENT, "bigint"),
        (b"ab", "json"),
        ("2024-13-01T00:00", "timestamp"),
        (float("inf"), "bool"),
    ],
)
def test_lossy_and_impossible_conversions_are_refused(value: Any, to: DataType) -> None:
    kind, plain = typed_value(value)

    with pytest.raises(ValueError):  # noqa: PT011  the message is whatever Python says
        convert_value(plain, kind, to)
    assert to not in observe_value(value).fits


@given(
    value=st.one_of(
        st.text(), st.integers(), st.floats(), st.booleans(), st.decimals(), st.binary(), st.datetimes()
    )
)
def test_fitting_types_are_exactly_those_that_convert(value: Any) -> None:
    kind, plain = typed_value(value)
    fits = observe_value(value).fits

    for to in DATA_TYPES:
        if to == kind:
            continue
        assert is_always_convertible(kind, to) <= (to in fits)
        if to in fits:
            convert_value(plain, kind, to)
        else:
            with pytest.raises(ValueError):  # noqa: PT011  the message is whatever Python says
                convert_value(plain, kind, to)


@given(st.binary())
def test_bytes_convert_to_text_and_back(value: bytes) -> None:
    assert base64.b64decode(convert_value(value, "binary", "text")) == value


def test_epochs_are_detected_only_near_the_given_time() -> None:
    seconds = int(MOMENT.timestamp())

    assert observe_value(seconds).detected == frozenset()
    assert observe_value(seconds, now=MOMENT).detected == {"timestamp"}
    assert observe_value(5, now=MOMENT).detected == frozenset()
    assert detected_type(frozenset({"timestamp"}), "bigint", ("timestamp",)) == "timestamp"


def fits(text: str, to: DataType) -> bool:
    try:
        convert_value(text, "text", to)
    except ValueError:
        return False
    return True


@given(
    st.sampled_from(sorted(PLAIN_TEXT_INITIALS)),
    st.one_of(
        st.text(),
        st.text("0123456789abcdefABCDEF+-/=:._ TZWxX"),
        st.sampled_from(["ull", "rue", "nf", "an", "2024-01-02", "0x1F"]),
    ),
)
def test_a_text_with_a_plain_initial_fits_at_most_binary(first: str, rest: str) -> None:
    text = first + rest

    others = {to for to in DATA_TYPES if to != "text" and fits(text, to)}

    assert fitting_types(text, "text") == others
    assert parse_date_or_datetime(text) is None
