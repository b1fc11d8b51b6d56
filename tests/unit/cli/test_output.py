"""Printed output has no secrets and no control characters."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.output import mask_secrets, printable
from penstock.redaction import MASK

TEXTS = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just("a word of nobody"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


def leaf_values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaf_values(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaf_values(item)]
    return [value]


@given(VALUES, st.sampled_from(["password", "api_key", "aws_secret_access_key", "tokens"]))
def test_all_values_below_the_name_of_a_secret_are_masked(value: Any, name: str) -> None:
    found = mask_secrets({"page": {name: value}, "other": value})

    assert set(map(str, leaf_values(found["page"]))) <= {MASK, "None", "True", "False"}
    assert found["other"] == value


@given(TEXTS)
def test_a_text_keeps_its_lines_and_loses_control_characters(text: str) -> None:
    found = printable(text)

    assert len(found) == len(text)
    assert all(item >= " " or item in "\t\n" for item in found)
    assert found == text or any(not item.isprintable() for item in text)


@given(st.dictionaries(TEXTS, VALUES))
def test_masked_values_can_be_written_as_json(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(mask_secrets(document))).keys() == document.keys()
