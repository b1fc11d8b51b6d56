"""The list of safeguards follows the code."""

from __future__ import annotations

from dev.mutants import MUTANTS, stale
from tests.rule_assertions import assert_no_offenders


def test_the_texts_and_tests_of_all_safeguards_exist() -> None:
    assert_no_offenders(stale(MUTANTS), "bring dev/mutants.py in line with the code")
