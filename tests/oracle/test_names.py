from __future__ import annotations

import json
from hashlib import sha256

import pytest
from tests.oracle.identifiers import CONVENTIONS, COUNT, LENGTHS, identifiers
from tests.oracle.oracle_client import ask, needs_dlt, vector

from penstock.schema import naming_convention

ALL = [(convention, length) for convention in CONVENTIONS for length in LENGTHS]


def penstock_names(convention: str, length: int) -> list[list[str]]:
    rules = naming_convention(convention, length)
    return [[rules.normalize_identifier(raw), rules.normalize_path(raw)] for raw in identifiers()]


def digest(names: list[list[str]]) -> str:
    return sha256(json.dumps(names).encode()).hexdigest()


@needs_dlt
@pytest.mark.parametrize(("convention", "length"), ALL)
def test_ten_thousand_names_equal_those_of_dlt(convention: str, length: int) -> None:
    raw = identifiers()
    expected = ask("names", convention=convention, max_length=length, raw=raw)

    different = [
        (r, o, t) for r, o, t in zip(raw, penstock_names(convention, length), expected, strict=True) if o != t
    ]

    assert different == []
    assert len(raw) == COUNT


@pytest.mark.parametrize(("convention", "length"), ALL)
def test_ten_thousand_names_equal_the_recorded_ones(convention: str, length: int) -> None:
    assert digest(penstock_names(convention, length)) == vector("names.json")[f"{convention}/{length}"]
