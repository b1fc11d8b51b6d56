from __future__ import annotations

import json

import pytest
from tests.corpus.hostile_rows import ALL, ExtractedRow, QuarantinedRow

from penstock.extract.encode import encode
from penstock.extract.json_fallback import encode_text

WRITABLE = {case.name: case for case in ALL if isinstance(case, ExtractedRow)}
REFUSED = {case.name: case for case in ALL if isinstance(case, QuarantinedRow)}


@pytest.mark.parametrize("name", WRITABLE)
def test_every_value_of_a_hostile_row_is_written(name: str) -> None:
    assert json.loads(encode(WRITABLE[name].row)) == WRITABLE[name].value


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_without_a_json_form_says_why(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=REFUSED[name].reason):
        encode(REFUSED[name].row)


@pytest.mark.parametrize("name", WRITABLE)
def test_the_fallback_encoder_writes_the_same_rows(name: str) -> None:
    assert json.loads(encode_text(WRITABLE[name].row)) == WRITABLE[name].value


@pytest.mark.parametrize("name", REFUSED)
def test_the_fallback_encoder_refuses_the_same_rows(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=REFUSED[name].reason):
        encode_text(REFUSED[name].row)
