from __future__ import annotations

import json

import pytest
from tests.corpus.hostile_rows import ALL, Kept, PutAside

from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_text

KEPT = {case.name: case for case in ALL if isinstance(case, Kept)}
PUT_ASIDE = {case.name: case for case in ALL if isinstance(case, PutAside)}


@pytest.mark.parametrize("name", KEPT)
def test_every_value_of_a_hostile_row_is_written(name: str) -> None:
    assert json.loads(encode(KEPT[name].row)) == KEPT[name].value


@pytest.mark.parametrize("name", PUT_ASIDE)
def test_a_row_without_a_json_form_says_why(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=PUT_ASIDE[name].reason):
        encode(PUT_ASIDE[name].row)


@pytest.mark.parametrize("name", KEPT)
def test_the_fallback_encoder_writes_the_same_rows(name: str) -> None:
    assert json.loads(encode_text(KEPT[name].row)) == KEPT[name].value


@pytest.mark.parametrize("name", PUT_ASIDE)
def test_the_fallback_encoder_refuses_the_same_rows(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=PUT_ASIDE[name].reason):
        encode_text(PUT_ASIDE[name].row)
