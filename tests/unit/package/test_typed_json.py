from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.package.tags import ALL, BYTES, DATE, DATETIME, DECIMAL, HEX, TIME
from penstock.package.tags import UUID as UUID_TAG
from penstock.package.typed_json import from_typed, to_typed

zones = st.sampled_from([UTC, timezone(timedelta(hours=2)), None])
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=8).filter(lambda text: text[:1] not in ALL)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.datetimes(timezones=st.none() | st.sampled_from([UTC, timezone(timedelta(hours=2))]))
    | st.dates()
    | st.times()
    | st.decimals(allow_nan=False)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


class Colour(Enum):
    RED = "red"


@given(values)
def test_a_document_reads_back_equal_through_json(document: Any) -> None:
    assert from_typed(orjson.loads(orjson.dumps(to_typed(document)))) == document


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC), DATETIME + "2024-01-02T03:04:05.000678+00:00"),
        (datetime(2024, 1, 2, 3, 4, 5), DATETIME + "2024-01-02T03:04:05"),
        (
            datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))),
            DATETIME + "2024-01-02T03:00:00+02:00",
        ),
        (date(2024, 1, 2), DATE + "2024-01-02"),
        (time(3, 4, 5, 600), TIME + "03:04:05.000600"),
        (Decimal("1.50"), DECIMAL + "1.50"),
        (Decimal("1E+5"), DECIMAL + "1E+5"),
        (Decimal("NaN"), DECIMAL + "NaN"),
        (b"ab", BYTES + "YWI="),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (math.nan, None),
        (math.inf, None),
        (Colour.RED, "red"),
        ({1: (2, 3)}, {"1": [2, 3]}),
        (2**70, DECIMAL + str(2**70)),
    ],
)
def test_the_encoding_is_that_of_dlt(value: Any, text: Any) -> None:
    assert to_typed(value) == text


def test_tags_that_only_dlt_writes_are_read() -> None:
    assert from_typed([HEX + "0xff", UUID_TAG + str(UUID(int=1))]) == [b"\xff", UUID(int=1)]


@pytest.mark.parametrize("text", [DATE + "x", DECIMAL + "x", BYTES + "x", TIME, DATETIME + "2024-"])
def test_a_text_with_an_invalid_tag_is_unchanged(text: str) -> None:
    assert from_typed({"v": text}) == {"v": text}


def test_a_value_without_an_encoding_is_refused() -> None:
    with pytest.raises(UsageError, match="a set cannot be stored in the state"):
        to_typed({"v": {1}})
