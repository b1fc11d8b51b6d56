"""Report every offender of a rule in one failure."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TESTS = Path(__file__).parent


def assert_no_offenders(offenders: Iterable[str], remedy: str) -> None:
    """Fail with all offenders and the remedy in the message; pass when there are none."""
    lines = list(offenders)
    if lines:
        listing = "\n".join(f"  {line}" for line in lines)
        pytest.fail(f"offenders: {len(lines)}; {remedy}:\n{listing}", pytrace=False)


def assert_sentences_have_tests(sentences: Mapping[str, tuple[str, str, str]], remedy: str) -> None:
    """Fail if the file and name of a sentence, after its section, are not those of a test."""
    assert_no_offenders(
        (
            f"{sentence}: tests/{file} has no test_{name}"
            for sentence, (_, file, name) in sentences.items()
            if name not in _names_of_tests(file)
        ),
        remedy,
    )


@cache
def _names_of_tests(file: str) -> frozenset[str]:
    """Return the names of the tests in a file, without `test_`."""
    text = (TESTS / file).read_text(encoding="utf-8")
    return frozenset(re.findall(r"^def test_(\w+)\(", text, re.MULTILINE))
