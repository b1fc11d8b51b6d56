"""Statistics of files are true for every row: no reader skips a file that has a row it asks for."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.delta.file_stats import (
    ColumnStats,
    DataFile,
    describe_file,
    leaf_columns,
    stats_json,
    truncated_lower,
    truncated_upper,
)
from penstock.errors import InternalError

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "byte": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "integer": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=50)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "decimal(38,9)": (
        pa.decimal128(38, 9),
        st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**28), max_value=10**28),
    ),
    "boolean": (pa.bool_(), st.booleans()),
    "binary": (pa.binary(), st.binary(max_size=40)),
}


def struct(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"type": "struct", "fields": fields}


def described(table: pa.Table, schema: dict[str, Any], **options: Any) -> DataFile:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return describe_file("f/0.parquet", buffer.tell(), pq.read_metadata(buffer), schema)


def document(file: DataFile, schema: dict[str, Any]) -> dict[str, Any]:
    text = stats_json(file, [path for path, _ in leaf_columns(schema)])
    return json.loads(text, parse_float=Decimal)  # type: ignore[no-any-return]


def as_value(bound: Any, kind: str) -> Any:
    """Return a bound as the value that it is."""
    if kind == "date":
        return date.fromisoformat(bound)
    if kind.startswith("timestamp"):
        return datetime.fromisoformat(bound)
    return float(bound) if kind in {"float", "double"} else bound


@given(st.data())
def test_bounds_hold_for_every_value(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(TYPES)))
    arrow_type, strategy = TYPES[kind]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=12))
    table = pa.table({"c": pa.array(values, arrow_type)})
    schema = struct(c=kind)

    stats = document(described(table, schema, row_group_size=data.draw(st.integers(1, 12))), schema)

    present = [value for value in values if value is not None]
    assert (stats["numRecords"], stats["nullCount"]["c"]) == (len(values), values.count(None))
    if "c" in stats["minValues"]:
        lower = as_value(stats["minValues"]["c"], kind)
        assert all(lower <= value or math.isnan(value) for value in present)
    if "c" in stats["maxValues"]:
        upper = as_value(stats["maxValues"]["c"], kind)
        assert all(value <= upper for value in present)
    is_bounded = kind not in {"float", "double", "boolean", "binary"} and all(
        not isinstance(value, date) or value.year < 9999 for value in present
    )
    if present and is_bounded:
        assert "c" in stats["minValues"]
        has_no_upper = kind == "string" and any(value[32:33] == "\U0010ffff" for value in present)
        assert has_no_upper or "c" in stats["maxValues"]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.just("\U0010ffff"), max_size=80))
def test_truncated_texts_are_bounds_in_the_order_of_bytes(text: str) -> None:
    lower, upper = truncated_lower(text), truncated_upper(text)

    assert lower.encode() <= text.encode()
    assert upper is None or (text.encode() <= upper.encode() and len(upper) <= 33)


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_with_nan_has_no_upper_bound(order: int) -> None:
    schema = struct(c="double")
    table = pa.table({"c": [1.0, math.nan, 3.0][::order]})

    file = described(table, schema)

    assert file.columns["c",] == ColumnStats(lower=1.0, null_count=0)


def test_timestamps_are_rounded_away_from_the_values() -> None:
    schema = struct(z="timestamp", n="timestamp_ntz")
    moment = datetime(1969, 12, 31, 23, 59, 59, 999_999)
    zoned = pa.array([moment.replace(tzinfo=UTC)], pa.timestamp("us", "UTC"))
    table = pa.table({"z": zoned, "n": pa.array([moment + timedelta(microseconds=2)], pa.timestamp("us"))})

    stats = document(described(table, schema), schema)

    assert stats["minValues"] == {"z": "1969-12-31T23:59:59.999Z", "n": "1970-01-01T00:00:00.000"}
    assert stats["maxValues"] == {"z": "1970-01-01T00:00:00.000Z", "n": "1970-01-01T00:00:00.001"}


def test_fields_of_structs_are_nested_and_elements_of_lists_have_no_statistics() -> None:
    schema = struct(
        s=struct(a="long", t=struct(b="string")),
        x={"type": "array", "elementType": "long", "containsNull": True},
        m={"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    )
    rows = pa.table(
        {
            "s": [{"a": 1, "t": {"b": "x"}}, None],
            "x": [[5], [7]],
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )

    stats = document(described(rows, schema), schema)

    assert stats["minValues"] == {"s": {"a": 1, "t": {"b": "x"}}}
    assert stats["nullCount"] == {"s": {"a": 1, "t": {"b": 1}}}


def test_decimals_keep_all_digits_in_the_log() -> None:
    value = Decimal("12345678901234567890123456789.012345678")
    file = described(pa.table({"c": pa.array([value], pa.decimal128(38, 9))}), struct(c="decimal(38,9)"))

    assert f'"minValues":{{"c":{value}}}' in stats_json(file, [("c",)])


@pytest.mark.parametrize(
    ("arrow_type", "kind"),
    [
        (pa.int32(), "long"),
        (pa.string(), "binary"),
        (pa.decimal128(10, 2), "decimal(10,3)"),
        (pa.timestamp("us"), "timestamp"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.list_(pa.int64()), "long"),
    ],
)
def test_a_file_with_another_type_is_refused(arrow_type: pa.DataType, kind: str) -> None:
    with pytest.raises(InternalError, match=r"no column c of type"):
        described(pa.table({"c": pa.array([], arrow_type)}), struct(c=kind))


def test_values_of_the_old_calendar_have_no_bounds() -> None:
    table = pa.table({"d": pa.array([date(1500, 1, 1)]), "i": [1]})
    old = table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})

    file = described(old, struct(d="date", i="long"))

    assert (file.columns["d",], file.columns["i",].lower) == (ColumnStats(null_count=0), 1)
