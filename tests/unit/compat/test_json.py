"""JSON of values that JSON has no types for, as programs written for dlt encode them."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from io import BytesIO, StringIO
from typing import Any, NamedTuple
from uuid import UUID

import pendulum
import pytest
from pydantic import BaseModel

from penstock.common import json


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


class Pair(NamedTuple):
    left: int
    right: int


class Model(BaseModel):
    price: Decimal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, 5, 6), '"2024-01-02T03:04:05.000006"'),
        (datetime(2024, 1, 2, tzinfo=UTC), '"2024-01-02T00:00:00+00:00"'),
        (pendulum.datetime(2024, 1, 2), '"2024-01-02T00:00:00+00:00"'),
        (pendulum.date(2024, 1, 2), '"2024-01-02"'),
        (time(3, 4, 5, tzinfo=UTC), '"03:04:05+00:00"'),
        (Decimal("1.50"), '"1.50"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (b"abc", '"YWJj"'),
        (bytearray(b"abc"), '"YWJj"'),
        (Color.RED, '"red"'),
        (Point(1), '{"x":1}'),
        (Pair(1, 2), '{"left":1,"right":2}'),
        (Model(price=Decimal("1.5")), '{"price":"1.5"}'),
        (UserDict(a=1), '{"a":1}'),
        ({1: (2, None)}, '{"1":[2,null]}'),
        (float("nan"), "null"),
    ],
)
def test_values_without_a_type_in_json_become_texts_objects_and_lists(value: Any, text: str) -> None:
    assert json.dumps(value) == text
    assert json.dumpb(value) == text.encode()


def test_a_value_without_a_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable: set"):
        json.dumps({1})


def test_keys_are_sorted_and_lines_are_indented_on_request() -> None:
    assert json.dumps({"b": 1, "a": "ä"}, sort_keys=True, pretty=True) == '{\n  "a": "ä",\n  "b": 1\n}'


def test_typed_json_restores_the_types_of_texts() -> None:
    row = {
        "at": datetime(2024, 1, 2, tzinfo=UTC),
        "on": date(2024, 1, 2),
        "price": Decimal("1.50"),
        "raw": b"abc",
        "plain": "2024-01-02",
    }

    assert json.typed_loads(json.typed_dumps(row)) == row
    assert json.typed_loadb(json.typed_dumpb(row)) == row


def test_files_are_written_and_read() -> None:
    plain, typed = BytesIO(), BytesIO()
    json.dump({"a": Decimal(1)}, plain)
    json.typed_dump({"a": Decimal(1)}, typed)

    assert json.load(BytesIO(plain.getvalue())) == {"a": "1"}
    assert json.load(StringIO(plain.getvalue().decode())) == {"a": "1"}
    assert json.typed_loadb(typed.getvalue()) == {"a": Decimal(1)}
