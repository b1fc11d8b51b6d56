"""Values of every data type are the same in Postgres after a binary COPY."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.postgres import URL

from penstock.destinations.postgres.binary_copy import (
    COPY_HEADER,
    COPY_TRAILER,
    BinaryEncoder,
    ValueNotStorable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ALL_DIGITS = Context(prec=38)
_DATETIMES = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999_999))


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    """One connection for all examples, with times in UTC."""
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        yield connection


def copied(
    connection: psycopg.Connection,
    batches: Sequence[pa.RecordBatch],
    types: dict[str, str],
    query: str = "SELECT * FROM copied",
) -> list[tuple[Any, ...]]:
    """Copy batches into a new table; return what a query returns."""
    encoder = BinaryEncoder(types)
    with connection.transaction(force_rollback=True):
        columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        connection.execute(f"CREATE TEMPORARY TABLE copied ({columns})")
        with connection.cursor().copy("COPY copied FROM STDIN (FORMAT binary)") as copy:
            copy.write(COPY_HEADER)
            for batch in batches:
                for chunk in encoder.encode(batch):
                    copy.write(memoryview(chunk))
            copy.write(COPY_TRAILER)
        return connection.execute(query).fetchall()


def assert_copied(
    connection: psycopg.Connection,
    values: Sequence[Any],
    arrow: pa.DataType,
    kind: str,
    expected: Sequence[Any],
) -> None:
    """Copy the values as a whole, and without the first one: a slice of the same memory."""
    batch = pa.record_batch({"at": pa.array(range(len(values))), "value": pa.array(values, arrow)})
    types, query = {"at": "int8", "value": kind}, "SELECT value FROM copied ORDER BY at"

    rows = copied(connection, [batch, batch.slice(1)], types, query)

    values_twice = [value for pair in zip(expected, expected, strict=True) for value in pair][1:]
    assert [value for (value,) in rows] == values_twice


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values, max_size=12)


@given(values=optional(st.integers(-(2**63), 2**63 - 1)))
def test_integers_of_64_bits(connection: psycopg.Connection, values: list[int | None]) -> None:
    assert_copied(connection, values, pa.int64(), "int8", values)


@given(values=optional(st.integers(-(2**15), 2**15 - 1)))
def test_integers_of_smaller_widths(connection: psycopg.Connection, values: list[int | None]) -> None:
    for kind in ("int2", "int4"):
        assert_copied(connection, values, pa.int64(), kind, values)


@given(values=optional(st.floats(allow_nan=False)))
def test_doubles(connection: psycopg.Connection, values: list[float | None]) -> None:
    assert_copied(connection, values, pa.float64(), "float8", values)


def test_nan_infinities_and_negative_zero(connection: psycopg.Connection) -> None:
    batch = pa.record_batch({"value": [math.nan, math.inf, -math.inf, -0.0]})

    rows = copied(connection, [batch], {"value": "float8"})

    assert str(rows) == "[(nan,), (inf,), (-inf,), (-0.0,)]"


@given(values=optional(st.booleans()))
def test_booleans(connection: psycopg.Connection, values: list[bool | None]) -> None:
    assert_copied(connection, values, pa.bool_(), "bool", values)


@given(values=optional(st.text()))
def test_texts_keep_every_character_but_nul(connection: psycopg.Connection, values: list[str | None]) -> None:
    expected = [None if value is None else value.replace("\0", "\ufffd") for value in values]

    assert_copied(connection, values, pa.string(), "text", expected)


@given(values=optional(st.binary()))
def test_bytes(connection: psycopg.Connection, values: list[bytes | None]) -> None:
    assert_copied(connection, values, pa.binary(), "bytea", values)


@given(data=st.data(), precision=st.integers(1, 38))
def test_decimals_of_every_precision(
    connection: psycopg.Connection, data: st.DataObject, precision: int
) -> None:
    scale = data.draw(st.integers(0, precision))
    numbers = st.integers(-(10**precision) + 1, 10**precision - 1).map(
        lambda digits: Decimal(digits).scaleb(-scale, _ALL_DIGITS)
    )
    values = data.draw(optional(numbers))

    assert_copied(connection, values, pa.decimal128(precision, scale), "numeric", values)


@given(values=optional(st.dates()))
def test_dates(connection: psycopg.Connection, values: list[date | None]) -> None:
    assert_copied(connection, values, pa.date32(), "date", values)


@given(values=optional(st.times()))
def test_times_stored_as_texts(connection: psycopg.Connection, values: list[time | None]) -> None:
    texts = [None if value is None else value.isoformat() for value in values]

    assert_copied(connection, texts, pa.string(), "time", values)


@given(values=optional(_DATETIMES))
def test_timestamps_with_time_zone(connection: psycopg.Connection, values: list[datetime | None]) -> None:
    moments = [None if value is None else value.replace(tzinfo=UTC) for value in values]

    assert_copied(connection, moments, pa.timestamp("us", "UTC"), "timestamptz", moments)


@given(values=optional(_DATETIMES))
def test_timestamps_without_time_zone(connection: psycopg.Connection, values: list[datetime | None]) -> None:
    assert_copied(connection, values, pa.timestamp("us"), "timestamp", values)


# Numbers of jsonb are exact decimals: those without a fraction are read as integers.
_SHORT_FLOATS = st.floats(-1e9, 1e9).filter(lambda number: number != int(number))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _SHORT_FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(values=optional(_JSON), ascii_only=st.booleans())
def test_json_documents(connection: psycopg.Connection, values: list[Any], *, ascii_only: bool) -> None:
    texts = [None if value is None else json.dumps(value, ensure_ascii=ascii_only) for value in values]
    expected = [None if value is None else json.loads(json.dumps(without_nul(value))) for value in values]

    assert_copied(connection, texts, pa.string(), "jsonb", expected)


def without_nul(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "\ufffd")
        case list():
            return [without_nul(element) for element in value]
        case dict():
            return {without_nul(key): without_nul(element) for key, element in value.items()}
        case _:
            return value


def test_halves_of_surrogate_pairs_in_json_are_replaced_and_counted(connection: psycopg.Connection) -> None:
    texts = [r'["\ud800", "x\udfff", "\ud83d\ude00", "\\ud800", "\\\u0000"]', '"plain"']
    encoder = BinaryEncoder({"value": "jsonb"})

    list(encoder.encode(pa.record_batch({"value": texts})))
    rows = copied(connection, [pa.record_batch({"value": texts})], {"value": "jsonb"})

    assert rows == [(["\ufffd", "x\ufffd", "😀", "\\ud800", "\\\ufffd"],), ("plain",)]
    assert encoder.replaced == {"value": 1}


@pytest.mark.parametrize(
    ("value", "arrow", "kind"),
    [
        (2_932_897, pa.date32(), "date"),
        (-719_163, pa.date32(), "date"),
        (253_402_300_800_000_000, pa.timestamp("us", "UTC"), "timestamptz"),
        (-62_135_596_800_000_001, pa.timestamp("us"), "timestamp"),
    ],
)
def test_years_outside_of_1_to_9999_are_refused_with_their_column(
    value: int, arrow: pa.DataType, kind: str
) -> None:
    integers = pa.array([value], pa.int32() if arrow == pa.date32() else pa.int64())
    batch = pa.record_batch({"day": integers.cast(arrow)})

    with pytest.raises(ValueNotStorable, match=rf"^column day: {kind}: a year outside 1 to 9999$"):
        list(BinaryEncoder({"day": kind}).encode(batch))


def test_integers_that_do_not_fit_are_refused_with_their_column() -> None:
    with pytest.raises(ValueNotStorable, match=r"^column id: int2: "):
        list(BinaryEncoder({"id": "int2"}).encode(pa.record_batch({"id": [2**15]})))


def test_many_rows_are_encoded_in_chunks_of_limited_size(connection: psycopg.Connection) -> None:
    batch = pa.record_batch({"id": range(3_000), "text": ["x" * 5_000] * 3_000})
    types = {"id": "int8", "text": "text"}

    chunks = [len(chunk) for chunk in BinaryEncoder(types).encode(batch)]
    rows = copied(connection, [batch], types, "SELECT count(*), sum(id), sum(length(text)) FROM copied")

    assert len(chunks) > 1
    assert max(chunks) < 5_000_000
    assert rows == [(3_000, sum(range(3_000)), 15_000_000)]
