from __future__ import annotations

from typing import get_args

import pytest

from penstock.errors import UnboundColumnException, UsageError
from penstock.schema.column import Column
from penstock.schema.spark_types import spark_type
from penstock.schema.types import DATA_TYPES, DataType, parse_data_type


def _type(kind: DataType, **facets: int | bool) -> str:
    return spark_type(Column.from_dict({"name": "c", "data_type": kind, **facets}))


PLAIN: dict[DataType, str] = {
    "text": "STRING",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "timestamp": "TIMESTAMP",
    "bigint": "BIGINT",
    "binary": "BINARY",
    "json": "STRING",
    "decimal": "DECIMAL(38,9)",
    "wei": "DECIMAL(38,0)",
    "date": "DATE",
    "time": "STRING",
}


def test_every_type_has_a_spark_type() -> None:
    assert {kind: _type(kind) for kind in DATA_TYPES} == PLAIN
    assert get_args(DataType) == DATA_TYPES


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (1, "TINYINT"),
        (8, "TINYINT"),
        (9, "SMALLINT"),
        (16, "SMALLINT"),
        (17, "INT"),
        (32, "INT"),
        (33, "BIGINT"),
    ],
)
def test_integers_are_as_wide_as_their_precision(precision: int, expected: str) -> None:
    assert _type("bigint", precision=precision) == expected


def test_an_integer_has_at_most_64_bits() -> None:
    assert _type("bigint", precision=128) == "BIGINT"


@pytest.mark.parametrize(
    ("facets", "expected"),
    [
        ({"precision": 10, "scale": 2}, "DECIMAL(10,2)"),
        ({"precision": 10}, "DECIMAL(10,9)"),
        ({"precision": 5}, "DECIMAL(5,5)"),
        ({"scale": 2}, "DECIMAL(38,2)"),
        ({"precision": 38, "scale": 0}, "DECIMAL(38,0)"),
        ({"precision": 76, "scale": 0}, "DECIMAL(38,0)"),
        ({"precision": 76, "scale": 38}, "DECIMAL(38,6)"),
        ({"precision": 40, "scale": 10}, "DECIMAL(38,8)"),
    ],
)
def test_decimals_keep_their_digits_up_to_38(facets: dict[str, int], expected: str) -> None:
    assert _type("decimal", **facets) == expected


def test_wei_can_be_narrowed() -> None:
    assert _type("wei", precision=20) == "DECIMAL(20,0)"
    assert _type("wei", precision=78) == "DECIMAL(38,0)"


def test_timestamps_have_a_time_zone_by_default() -> None:
    assert _type("timestamp", timezone=False) == "TIMESTAMP_NTZ"
    assert _type("timestamp", timezone=True, precision=9) == "TIMESTAMP"


def test_length_hints_do_not_change_text_and_bytes() -> None:
    assert _type("text", precision=64) == "STRING"
    assert _type("binary", precision=10) == "BINARY"
    assert _type("time", precision=3) == "STRING"


def test_a_column_without_a_type_has_no_spark_type() -> None:
    with pytest.raises(UnboundColumnException, match="has no data type"):
        spark_type(Column(name="c"))


def test_the_old_name_of_json_is_accepted_and_unknown_names_are_refused() -> None:
    assert parse_data_type("complex") == "json"
    assert parse_data_type("text") == "text"
    with pytest.raises(UsageError, match="strange"):
        parse_data_type("strange")
