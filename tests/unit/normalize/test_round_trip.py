from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock.extract.encode import encode
from penstock.normalize.plan import plan_layout
from penstock.normalize.profile import profile_rows
from penstock.normalize.unexpected.round_trip import can_round_trip, is_mostly_round_trip
from penstock.schema import Schema, decide

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout

ROW = {"id": 1, "score": 1.5, "at": {"city": "Ulm", "tags": ["a", "b"]}, "items": [{"n": 1, "ok": True}]}


def layout_of(*rows: Any) -> NestedLayout:
    profile = profile_rows(map(encode, rows))
    return plan_layout(decide(Schema("shop").stored, "t", profile.evidence), profile)


@pytest.mark.parametrize(
    "row",
    [
        # A name in Spark differs from its key.
        {"odd key": 1},
        # The type of the elements is unknown: the list is kept as JSON.
        {"tags": []},
        {"id": 1, "ID": 2},
    ],
)
def test_rows_that_spark_writes_in_another_form_cannot_be_compared(row: dict[str, Any]) -> None:
    assert not can_round_trip(layout_of(row))


def test_an_object_in_a_variant_cannot_be_compared() -> None:
    assert can_round_trip(layout_of({"a": 1}, {"a": "x"}))
    assert not can_round_trip(layout_of({"a": 1}, {"a": {"b": 1}}))


@pytest.mark.parametrize(
    ("changes", "is_equal"),
    [
        ({}, True),
        ({"at": {"city": "Köln", "tags": []}}, True),
        ({"score": None}, False),
        ({"at": {"tags": ["a"], "city": "Ulm"}}, False),
        ({"score": 1e7}, False),
        ({"score": 0.0}, True),
        ({"more": 1}, False),
    ],
)
def test_nearly_all_rows_have_to_be_as_spark_writes_them(changes: dict[str, Any], *, is_equal: bool) -> None:
    layout = layout_of(ROW)

    assert is_mostly_round_trip([encode({**ROW, **changes})], layout) is is_equal
    assert is_mostly_round_trip([encode(ROW)] * 30 + [encode({**ROW, **changes})], layout)


def test_rows_of_many_levels_are_not_compared() -> None:
    text = b'{"a":' * 300 + b"1" + b"}" * 300
    profile = profile_rows([text])

    layout = plan_layout(decide(Schema("shop").stored, "t", profile.evidence), profile)

    assert not is_mostly_round_trip([text], layout)


def test_texts_that_are_not_json_are_not_compared() -> None:
    assert not is_mostly_round_trip([b"{", orjson.dumps([1])], layout_of(ROW))
    assert not is_mostly_round_trip([], layout_of(ROW))
