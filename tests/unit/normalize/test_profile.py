from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.extract.encode import encode
from penstock.normalize.profile import RowProfile, profile_rows
from penstock.schema import gather
from penstock.schema.value_path import EACH

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(("2024-01-02T03:04:05Z", "5", " 7", "true", "\uf026x"))
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12)
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.times()
    | st.binary(max_size=3)
)
rows = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def comparable(evidence: Any) -> list[Any]:
    return [
        (item.path, item.type, item.count, item.first, item.fits, item.detected, item.longest)
        for item in evidence
    ]


@given(st.lists(rows, max_size=4))
def test_json_texts_have_the_same_evidence_as_their_rows(python_rows: list[Any]) -> None:
    profile = profile_rows(encode(row) for row in python_rows)

    assert comparable(profile.evidence) == comparable(gather(python_rows))
    assert (profile.rows, profile.unreadable) == (len(python_rows), 0)


@given(st.lists(rows, max_size=6), st.integers(0, 6))
def test_profiles_of_parts_merge_to_the_profile_of_all_rows(python_rows: list[Any], cut: int) -> None:
    texts = [encode(row) for row in python_rows]
    begin = min(cut, len(texts))

    parts = RowProfile().merged_with(profile_rows(texts[:begin]), profile_rows(texts[begin:], start=begin))

    profile_of_all = profile_rows(texts)
    assert comparable(parts.evidence) == comparable(profile_of_all.evidence)
    assert parts.forms == profile_of_all.forms
    assert parts.has_same_shape_as(profile_of_all)


def test_forms_are_those_of_the_json_values() -> None:
    row = {
        "a": [1, 2.5, None, "x", b"b", True, {}, []],
        "d": date(2024, 1, 2),
        "n": None,
        "w": 2**63,
        "m": Decimal("1.5"),
        "t": time(1),
        "s": datetime(2024, 1, 2, tzinfo=UTC),
        "q": "\uf026",
    }

    forms = profile_rows([encode(row)]).forms

    assert forms[("a", EACH)] == {"whole", "fraction", "text", "tagged binary", "bool", "object", "list"}
    assert forms[("n",)] == frozenset()
    assert forms[("w",)] == {"wide"}
    kinds = {"d": "date", "m": "decimal", "t": "time", "s": "timestamp", "q": "text"}
    assert {key: forms[(key,)] for key in kinds} == {key: {f"tagged {kind}"} for key, kind in kinds.items()}


def test_invalid_json_is_counted_and_skipped() -> None:
    profile = profile_rows([b'{"a":"a word"}', b"{", b"", b'{"a":"no word"}'])

    assert (profile.rows, profile.unreadable) == (4, 2)
    assert [(item.path, item.count) for item in profile.evidence] == [((), 2), (("a",), 2)]


def test_another_type_key_or_fit_changes_the_shape_of_a_profile() -> None:
    profile = profile_rows([b'{"a":"2024-01-02T03:04:05Z"}'])

    for text in (b'{"a":1}', b'{"b":"x"}', b'{"a":"no moment"}'):
        assert not profile.merged_with(profile_rows([text])).has_same_shape_as(profile)
    assert profile.merged_with(profile_rows([b'{"a":"2024-01-02T03:04:06Z"}'])).has_same_shape_as(profile)
