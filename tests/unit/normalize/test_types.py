from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.normalize.kinds import Seen
from penstock.normalize.tree import Leaf
from penstock.normalize.types import Arrival, arrival, into
from penstock.schema import DATA_TYPES, Column, spark_type

if TYPE_CHECKING:
    from penstock.normalize.tree import Kind
    from penstock.package.projection import Conversion
    from penstock.schema import DataType

every_seen = st.integers(0, 2047).map(Seen)
every_decimal = st.builds(
    Column,
    name=st.just("n"),
    data_type=st.just("decimal"),
    precision=st.none() | st.integers(1, 80),
    scale=st.none() | st.integers(0, 38),
)


def column_of(data_type: DataType | None, precision: int | None = None, scale: int | None = None) -> Column:
    return Column(name="c", data_type=data_type, nullable=True, precision=precision, scale=scale)


@pytest.mark.parametrize(
    ("kind", "seen", "expected"),
    [
        ("bool", Seen.NOTHING, Arrival(data_type="bool")),
        ("bigint", Seen.NOTHING, Arrival(data_type="bigint")),
        ("double", Seen.NOTHING, Arrival(data_type="double")),
        ("wide", Seen.NOTHING, Arrival(data_type="bigint")),
        ("wide", Seen.LARGE, Arrival(data_type="decimal", precision=38, scale=0)),
        ("mixed", Seen.NUMBER, Arrival(data_type="double", conversion="number")),
        ("mixed", Seen.WHOLE | Seen.NUMBER, Arrival(data_type="double", conversion="number")),
        ("mixed", Seen.WHOLE | Seen.DECIMAL, Arrival(data_type="decimal", conversion="number")),
        ("mixed", Seen.DECIMAL, Arrival(data_type="decimal", conversion="number")),
        ("mixed", Seen.NUMBER | Seen.DECIMAL, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.WHOLE | Seen.NUMBER | Seen.DECIMAL, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.WHOLE | Seen.OTHER, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.DECIMAL | Seen.OTHER, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.NUMBER | Seen.OTHER, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.OTHER, Arrival(data_type="json", conversion="json")),
        ("mixed", Seen.NOTHING, Arrival(data_type="json", conversion="json")),
        ("text", Seen.NOTHING, Arrival(data_type="text", conversion="text")),
        ("text", Seen.TEXT, Arrival(data_type="text", conversion="text")),
        ("text", Seen.TIMESTAMP, Arrival(data_type="timestamp", conversion="parse")),
        (
            "text",
            Seen.TIMESTAMP | Seen.TAGGED,
            Arrival(data_type="timestamp", conversion="parse", tagged=True),
        ),
        ("text", Seen.DECIMAL | Seen.TAGGED, Arrival(data_type="decimal", conversion="parse", tagged=True)),
        ("text", Seen.DATE | Seen.TAGGED, Arrival(data_type="date", conversion="parse", tagged=True)),
        ("text", Seen.NUMBER | Seen.TAGGED, Arrival(data_type="double", conversion="parse", tagged=True)),
        ("text", Seen.BINARY | Seen.TAGGED, Arrival(data_type="binary", conversion="binary", tagged=True)),
        ("text", Seen.TIME | Seen.TAGGED, Arrival(data_type="time", conversion="text", tagged=True)),
        ("text", Seen.TEXT | Seen.TAGGED, Arrival(data_type="text", conversion="text", tagged=True)),
    ],
)
def test_what_was_seen_decides_the_type(kind: Kind, seen: Seen, expected: Arrival) -> None:
    assert arrival(Leaf(kind), seen) == expected


@given(seen=every_seen)
def test_texts_that_do_not_agree_stay_texts(seen: Seen) -> None:
    found = arrival(Leaf("text"), seen)

    agree = len(seen & ~Seen.TAGGED) == 1 and not seen & (Seen.TEXT | Seen.LARGE | Seen.OTHER | Seen.WHOLE)
    assert (found.data_type != "text") == agree
    assert found.tagged == bool(seen & Seen.TAGGED)


@given(seen=every_seen, more=every_seen)
def test_seeing_more_kinds_of_text_never_makes_the_type_narrower(seen: Seen, more: Seen) -> None:
    before, after = arrival(Leaf("text"), seen), arrival(Leaf("text"), seen | more)

    assert after.data_type in (before.data_type, "text") or not seen & ~Seen.TAGGED


@given(seen=every_seen)
def test_mixed_values_that_are_not_all_numbers_of_one_kind_stay_json(seen: Seen) -> None:
    found = arrival(Leaf("mixed"), seen)

    numbers = seen & (Seen.WHOLE | Seen.NUMBER | Seen.DECIMAL)
    agree = bool(seen) and numbers == seen and not (seen & Seen.NUMBER and seen & Seen.DECIMAL)
    assert (found.data_type != "json") == agree
    assert (found.data_type == "decimal") <= bool(seen & Seen.DECIMAL)


@pytest.mark.parametrize("known", DATA_TYPES)
def test_values_of_the_columns_own_type_enter_as_they_arrive(known: DataType) -> None:
    assert into(column_of(known), Arrival(data_type=known, conversion="parse")) == "parse"


@pytest.mark.parametrize(
    ("column", "arriving", "conversion"),
    [
        ("text", "timestamp", "text"),
        ("text", "date", "text"),
        ("text", "decimal", "text"),
        ("text", "time", "text"),
        ("text", "bigint", "as_is"),
        ("double", "bigint", "as_is"),
        ("decimal", "bigint", "as_is"),
    ],
)
def test_a_wider_column_takes_narrower_values(
    column: DataType, arriving: DataType, conversion: Conversion
) -> None:
    assert into(column_of(column), Arrival(data_type=arriving)) == conversion


@pytest.mark.parametrize(
    ("column", "arriving"),
    [
        ("bigint", "text"),
        ("bigint", "double"),
        ("timestamp", "text"),
        ("bool", "bigint"),
        ("date", "timestamp"),
    ],
)
def test_values_that_would_be_lost_need_a_column_of_their_own(column: DataType, arriving: DataType) -> None:
    assert into(column_of(column), Arrival(data_type=arriving)) is None


@pytest.mark.parametrize("arriving", DATA_TYPES)
def test_a_column_without_a_type_takes_nothing_yet(arriving: DataType) -> None:
    assert into(column_of(None), Arrival(data_type=arriving)) is None


@pytest.mark.parametrize(
    ("precision", "scale", "arriving"),
    [
        (38, 0, Arrival(data_type="decimal", conversion="parse")),
        (None, None, Arrival(data_type="decimal", precision=38, scale=0)),
        (38, 18, Arrival(data_type="decimal", precision=38, scale=0)),
        (10, 2, Arrival(data_type="decimal", conversion="parse")),
    ],
)
def test_a_decimal_does_not_enter_a_column_of_other_digits(
    precision: int | None, scale: int | None, arriving: Arrival
) -> None:
    assert into(column_of("decimal", precision, scale), arriving) is None


@pytest.mark.parametrize(("precision", "scale"), [(None, None), (38, 0)])
def test_a_decimal_enters_a_column_of_its_own_digits(precision: int | None, scale: int | None) -> None:
    arriving = Arrival(data_type="decimal", conversion="parse", precision=precision, scale=scale)

    assert into(column_of("decimal", precision, scale), arriving) == "parse"


def test_a_decimal_enters_a_column_that_writes_out_the_default_digits() -> None:
    arriving = Arrival(data_type="decimal", conversion="parse")

    assert spark_type(column_of("decimal", 38, 9)) == spark_type(column_of("decimal"))
    assert into(column_of("decimal", 38, 9), arriving) == "parse"


@pytest.mark.parametrize(
    ("precision", "scale", "enters"),
    [
        (None, None, True),
        (38, 0, True),
        (38, 19, True),
        (19, 0, True),
        (38, 20, False),
        (18, 0, False),
        (20, None, False),
        (5, None, False),
    ],
)
def test_a_whole_number_enters_a_decimal_column_with_room_for_19_digits(
    precision: int | None, scale: int | None, enters: bool
) -> None:
    found = into(column_of("decimal", precision, scale), Arrival(data_type="bigint"))

    assert found == ("as_is" if enters else None)


@given(column=every_decimal)
def test_a_whole_number_enters_only_where_the_type_in_spark_has_room_for_it(column: Column) -> None:
    digits, fraction = (int(part) for part in spark_type(column)[len("DECIMAL(") : -1].split(","))

    enters = into(column, Arrival(data_type="bigint")) is not None

    assert enters <= (digits - fraction >= 19)


@pytest.mark.parametrize("precision", [8, 16, 32])
def test_a_whole_number_does_not_enter_a_narrower_column(precision: int) -> None:
    assert into(column_of("bigint", precision), Arrival(data_type="bigint")) is None


def test_mixed_decimals_enter_a_text_column_without_their_tags() -> None:
    arriving = Arrival(data_type="decimal", conversion="number")

    assert into(column_of("text"), arriving) in ("number", None)
