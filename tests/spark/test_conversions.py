"""SQL converts every value as the Python reference does."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.extract.encode import encode
from penstock.normalize.profile import decode_value
from penstock.package.projection.convert import converted_value as converted_sql
from penstock.package.projection.typed_values import typed_value as typed_sql
from penstock.schema import convert
from penstock.schema.observation import observe_value, typed_value
from penstock.schema.types import DATA_TYPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.package.projection.typed_values import StorageForm

WIDE = Context(prec=50)
TEXTS = (
    "", "word", "5", " 7 ", "-12", "+3", "3.5", "1e3", "0x1F", "0xfffffffffffffffff", "true", "No", "y", "{}",
    "[1, 2]", '"q"', "null", "1,2", "{", '{"a":1}x', "2024-01-02", "2024-01-02T03:04:05Z", "2024-01-02 03:04",
    "20240102T030405", "20240102", "2024-01-02T03:04:05.123456789+01:00", "2024-01-02T03:04:05-0130", "2024",
    "2024-01", "2024-13-01", "2024-02-30T01:00:00Z", "2024-01-02T00:00:00Z", "2024/01/02 3:04", "03:04:05",
    "03:04", "23:59:59.5+02:00", "1700000000", "1700000000.5", "1_000", "nan", "inf", "1e400", "-Infinity",
    "9223372036854775807", "9223372036854775808", "0.1", "0.1234567890123456789", "12345678901234567890123",
    "99999999999999999999999999999999999999", "1e-12", "1e25", "a longer text with blanks", "日本", "0", "1",
    "YWI=", "YWI", "0x00ff", "1.50", ".5", "5.", "-0", "t", "F", "86400", "2024-01-02T24:00:00",
    "2024-W05", "2024-W05-7T01:00Z", "2024W531", "2020-W53-1", "2024-W00", "2024W058", "2024-045",
    "2024366T0304", "2023-366", "2024000", "2024-01T03:04", "2024-01-02T03:04:05+19:00", "0000-01-01",
    "2024-01-02T03:04:05+01:75", "20241301", "2024-01-02T03:04:05.1234567Z",
    "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59.999999Z", "12:00-23:30",
    "2024-01-02T03:04:05+24:00", "0000-01-01T00:00:00Z", "0001-01-01", "2024-01-02T03:04:60Z", "T0304+05",
    "0x" + "f" * 31, "0x" + "f" * 32, "0x0", '{"a": 1e400}', '{"a": 1e100}', "0.0000000001",
)  # fmt: skip
INTEGERS = (
    0,
    1,
    2,
    -1,
    255,
    256,
    65_536,
    86_400,
    1_700_000_000,
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
    -(2**63),
    10**15,
)
FRACTIONS = (
    0.0, 1.0, -2.5, 3.7, 0.1, 1e10, 86_400.0, 1e-12, 123456.789, 1e16, 1.5e300, 1e-5, 0.00025,
    12345678.5, 1e7,
    9.007199254740993e15, 1.7e9, 1e22, 2.0**63, 1700000000.123456,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    True, False, Decimal("0"), Decimal("1"), Decimal("1.5"), Decimal("-3.00"), Decimal("0.1"),
    Decimal("1.10"),
    Decimal("123456789.123456789"), Decimal("12345678901234567890"), Decimal("0.000000001"), float("nan"),
    float("inf"), datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), date(2024, 1, 2),
    date(1, 1, 1), time(3, 4), time(23, 59, 59, 5), b"", b"ab\x00", 2**63, 2**64 - 1, {"a": 1,
    "b": [True]}, [1, "x"],
)  # fmt: skip


def expected(value: Any, to: Any) -> Any:
    """Return the result of the reference for a value, in its text form."""
    seen = observe_value(value).type
    kind, plain = typed_value(value) if seen not in ("object", "list") else ("json", value)
    try:
        result = convert.convert_value(plain, kind, to)
    except ValueError:
        return None
    return comparable(result, to)


def comparable(result: Any, to: Any) -> Any:
    match to:
        case "json":
            return "json"
        case "timestamp":
            moment = result.replace(tzinfo=UTC) if result.tzinfo is None else result
            since = moment - datetime(1970, 1, 1, tzinfo=UTC)
            return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        case "time" | "date":
            return result.isoformat()
        case "decimal" | "wei":
            return format(WIDE.add(WIDE.normalize(Decimal(result)), 0), "f")
        case "double":
            return "nan" if math.isnan(result) else float(result)
        case "binary":
            return bytes(result)
        case _:
            return result


def comparable_sql(expression: str, to: str) -> str:
    match to:
        case "json":
            return f"CASE WHEN ({expression}) IS NOT NULL THEN 'json' END"
        case "timestamp":
            return f"unix_micros({expression})"
        case "date":
            return f"CAST({expression} AS STRING)"
        case _:
            return expression


def stored_in(value: Any) -> list[StorageForm]:
    form, _ = decode_value(value)
    alone: dict[str, StorageForm] = {"bool": "bool", "whole": "bigint", "fraction": "double", "text": "text"}
    result: list[StorageForm] = [alone[form]] if form in alone else []
    result += ["tagged"] if form in ("text", "tagged") else []
    result += ["json"] if form in ("object", "list") else []
    return [*result, "mixed"]


@pytest.mark.parametrize("stored", ["bool", "bigint", "double", "text", "tagged", "json", "mixed"])
def test_every_value_is_converted_in_sql_as_in_python(spark: SparkSession, stored: StorageForm) -> None:
    values = [
        item
        for item in (*TEXTS, *INTEGERS, *FRACTIONS, *OTHERS)
        if stored in stored_in(orjson.loads(encode({"v": item}))["v"])
    ]
    sql_type = {"bool": "BOOLEAN", "bigint": "BIGINT", "double": "DOUBLE", "mixed": "VARIANT"}.get(
        stored, "STRING"
    )
    rows = [(number, encode({"v": item}).decode()) for number, item in enumerate(values)]
    frame = spark.createDataFrame(rows, "n INT, t STRING").selectExpr(
        "n", f"from_json(t, 'v {sql_type}').v AS v"
    )
    kinds: list[Any] = sorted({observe_value(item).type for item in values})
    frame = frame.selectExpr("n", *(f"{typed_sql('v', stored, kind)} AS p_{kind}" for kind in kinds))
    wanted = [(kind, to) for kind in kinds for to in DATA_TYPES]
    select = [
        f"{comparable_sql(converted_sql(f'p_{kind}', kind, to), to)} AS {kind}_{to}" for kind, to in wanted
    ]
    result = {row["n"]: row for row in frame.selectExpr("n", *select).collect()}

    wrong = []
    for number, value in enumerate(values):
        seen = observe_value(value).type
        for kind, to in wanted:
            was = result[number][f"{kind}_{to}"]
            if was is not None and to in ("decimal", "wei"):
                was = format(WIDE.add(WIDE.normalize(was), 0), "f")
            if was is not None and to == "double" and math.isnan(was):
                was = "nan"
            was = bytes(was) if isinstance(was, bytearray) else was
            should = expected(value, to) if kind == seen else None
            if was != should:
                wrong.append((value, kind, to, was, should))
    assert not wrong, "\n".join(map(repr, wrong))
