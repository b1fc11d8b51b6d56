"""Nothing that is printed shows a secret or moves a cursor."""

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


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


@given(VALUES, st.sampled_from(["password", "api_key", "aws_secret_access_key", "tokens"]))
def test_all_that_stands_below_the_name_of_a_secret_is_masked(value: Any, name: str) -> None:
    found = mask_secrets({"page": {name: value}, "other": value})

    assert set(map(str, leaves(found["page"]))) <= {MASK, "None", "True", "False"}
    assert found["other"] == value


@given(TEXTS)
def test_a_text_keeps_its_lines_and_loses_what_moves_a_cursor(text: str) -> None:
    found = printable(text)

    assert len(found) == len(text)
    assert all(one >= " " or one in "\t\n" for one in found)
    assert found == text or any(not one.isprintable() for one in text)


@given(st.dictionaries(TEXTS, VALUES))
def test_what_is_shown_can_be_written_as_json(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(mask_secrets(document))).keys() == document.keys()
