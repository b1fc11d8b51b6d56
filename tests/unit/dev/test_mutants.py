"""The list of safeguards follows the code."""

from __future__ import annotations

from dev.mutants import MUTANTS, ROOT
from tests.offenders import assert_no_offenders


def test_the_text_of_each_safeguard_occurs_once_in_its_file() -> None:
    texts = {path: (ROOT / "src/penstock" / path).read_text() for path in {mutant.path for mutant in MUTANTS}}

    offenders = [mutant.name for mutant in MUTANTS if texts[mutant.path].count(mutant.old) != 1]

    assert_no_offenders(offenders, "bring the text in dev/mutants.py in line with the code")


def test_the_tests_of_each_safeguard_exist() -> None:
    missing = [
        f"{mutant.name}: {path}"
        for mutant in MUTANTS
        for path in mutant.tests
        if not (ROOT / path.split("::")[0]).exists()
    ]

    assert_no_offenders(missing, "name a test that exists in dev/mutants.py")
