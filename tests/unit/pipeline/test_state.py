from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UnsupportedVersion
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.tags import ALL
from penstock.package.typed_json import to_typed
from penstock.pipeline import state as state_module
from penstock.pipeline.state import (
    ENGINE_VERSION,
    decode_state,
    encode_state,
    new_state,
    state_after_package,
    state_hash,
    with_version,
)

# A text that begins like a value that JSON lacks is read as one: the form is dlt's.
words = st.text(alphabet=st.characters(codec="utf-8"), max_size=8).filter(lambda text: text[:1] not in ALL)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
states = st.dictionaries(words.filter(lambda key: not key.startswith("_")), values, max_size=5)

FRESH = new_state(
    pipeline_name="shop",
    dataset_name="lake",
    schema_name="shop",
    destination_type="dlt.destinations.filesystem",
)


@pytest.mark.parametrize(
    ("state", "text", "digest"),
    [
        ({"a": 1}, "eNqrVkpUsjKsBQAIKgIJ", "qUO6oIfrr72iSQcxy+mqkXCPC2a9QFUVDoFP50zmHEo="),
        ({}, "eNqrrgUAAXUA+Q==", "hA63qiqZNd5jNmusvp2X6XioWek9x5KgM03mDtUvjpk="),
    ],
)
def test_text_and_hash_are_those_of_dlt(state: dict[str, Any], text: str, digest: str) -> None:
    assert encode_state(state) == text
    assert state_hash(state) == digest


def test_a_new_state_has_no_version_yet_and_no_sources() -> None:
    assert (FRESH["_state_version"], FRESH["_state_engine_version"], FRESH["sources"]) == (0, 4, {})
    assert (FRESH["default_schema_name"], FRESH["schema_names"]) == ("shop", ["shop"])


@given(state=states)
def test_a_state_reads_back_as_written(state: dict[str, Any]) -> None:
    assert decode_state(encode_state(state)) == state


@given(state=states)
def test_a_state_in_plain_json_is_read_too(state: dict[str, Any]) -> None:
    assert decode_state(orjson.dumps(state).decode()) == state


@given(state=states, local=values)
def test_local_values_are_not_stored_and_do_not_change_the_hash(state: dict[str, Any], local: Any) -> None:
    with_local = {**state, "_local": local}

    assert decode_state(encode_state(with_local)) == state
    assert state_hash(with_local) == state_hash(state)


@given(state=states, other=states)
def test_the_hash_does_not_depend_on_the_order_of_keys(state: dict[str, Any], other: dict[str, Any]) -> None:
    backwards = dict(reversed(list(state.items())))

    assert state_hash(backwards) == state_hash(state)
    same = orjson.dumps(state, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        other, option=orjson.OPT_SORT_KEYS
    )
    assert (state_hash(state) == state_hash(other)) == same


def test_the_version_is_incremented_only_when_the_content_changes() -> None:
    first = with_version(FRESH)
    same = with_version(first)
    changed = with_version({**first, "sources": {"github": {"cursor": 7}}})

    assert [state["_state_version"] for state in (FRESH, first, same, changed)] == [0, 1, 1, 2]
    assert same == first
    assert changed["_version_hash"] == state_hash(changed) != first["_version_hash"]


def test_with_version_does_not_modify_its_argument() -> None:
    before = dict(FRESH)

    with_version(FRESH)

    assert before == FRESH


def test_a_state_of_a_later_engine_is_refused() -> None:
    text = encode_state({**FRESH, "_state_engine_version": ENGINE_VERSION + 1})

    with pytest.raises(UnsupportedVersion, match="the pipeline state has version 5"):
        decode_state(text)


def test_a_state_keeps_the_types_of_its_values() -> None:
    state = {**FRESH, "sources": {"a": {"at": datetime(2024, 1, 2, tzinfo=UTC), "raw": b"x"}}}

    assert decode_state(encode_state(state)) == state


def test_the_state_after_a_package_has_its_resource_states_as_plain_json() -> None:
    extracted = ExtractManifest(
        schema_name="hub", state={"hub": to_typed({"at": datetime(2024, 1, 2, tzinfo=UTC)})}
    )

    after = state_after_package({**FRESH, "sources": {"old": 1, "hub": {"at": 0}}}, extracted)

    assert json.loads(json.dumps(after)) == after
    assert decode_state(encode_state(after))["sources"] == {
        "old": 1,
        "hub": {"at": datetime(2024, 1, 2, tzinfo=UTC)},
    }
    assert after["schema_names"] == [*FRESH["schema_names"], "hub"]


def test_a_package_without_a_state_leaves_it_unchanged() -> None:
    before = {**FRESH, "sources": {"old": {"a": 1}}}

    assert state_after_package(before, ExtractManifest(schema_name=FRESH["schema_names"][0])) == before


def test_decompression_of_a_state_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = encode_state({**FRESH, "sources": {"shop": {"page": "x" * 10_000}}})
    assert len(text) < 1_000
    assert decode_state(text)["sources"]["shop"]["page"] == "x" * 10_000

    monkeypatch.setattr(state_module, "_MAX_BYTES", 5_000)

    with pytest.raises(orjson.JSONDecodeError):
        decode_state(text)
