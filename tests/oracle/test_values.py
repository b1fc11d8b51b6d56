"""Rows and values are those of dlt, as tables and columns are."""

from __future__ import annotations

import json
import os
from collections import Counter
from hashlib import sha256
from typing import Any

import pytest
from tests.corpus.hard_rows import HARD
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.reference_rows import reference_tables
from tests.oracle.row_comparison import BatchComparison, Comparison, with_row_numbers
from tests.oracle.row_sets import COUNT as ALL_CASES
from tests.oracle.row_sets import RECORDED, Case, rowset
from tests.oracle.test_rows import FAILURES, NAMELESS
from tests.oracle.type_differences import DIFFERENCES

from penstock.schema import Schema, decide, gather

COUNT = int(os.environ.get("PENSTOCK_TEST_CASES", str(ALL_CASES)))
CHUNK = 250
NAMELESS_KEY = "a-key-without-a-name"


HARD_DIFFERENCES = {
    "a fraction, then whole numbers": "digits-into-double",
    "a boolean, then numbers": "number-into-bool",
    "a decimal, then numbers": "digits-into-decimal",
    "decimals of many digits": "digits-into-decimal",
    "two spellings of one name": "two-keys-one-name",
    "a separator in a key": "two-keys-one-name",
    "a column of the engine": "two-keys-one-name",
    "what is no number": "not-a-number",
}
"""Intended differences with their reasons."""


def hard_cases() -> dict[str, Case]:
    document: Any = Schema("oracle").to_dict()
    return {
        name: Case(number=-1, keys=frozenset(), document=document, batches=(tuple(rows),))
        for name, rows in HARD.items()
    }


@needs_dlt
def test_hard_rows_yield_the_rows_and_values_of_dlt() -> None:
    cases = hard_cases()
    answers = ask("rows", cases=[case.coded() for case in cases.values()], values=True)
    options = {
        name: outcomes(case, answer)[0][0]
        for (name, case), answer in zip(cases.items(), answers, strict=True)
    }
    assert {name: why for name, why in options.items() if why != "equal"} == HARD_DIFFERENCES


def outcomes(case: Case, answer: list[Any]) -> list[tuple[str, Any]]:
    """Return the comparison of each batch that dlt completed, and the error of dlt."""
    result: list[tuple[str, Any]] = []
    comparison = Comparison()
    stored = Schema.from_dict(case.document).stored
    for batch, item in zip(case.batches, answer, strict=False):
        if "error" in item:
            result.append((FAILURES.get(item["error"], f"WRONG {item['error']}"), item["error"]))
            continue
        decision = decide(stored, "t", gather(batch))
        stored = decision.schema
        compared = comparison.compare(reference_tables(decision, batch), item, decision)
        options = compared.verdict
        if options == "WRONG" and case.keys & set(NAMELESS):
            options = NAMELESS_KEY
        result.append((options, compared))
    return result


@needs_dlt
def test_row_sets_yield_the_rows_and_values_of_dlt() -> None:
    batches: Counter[str] = Counter()
    cells: Counter[str] = Counter()
    wrong = []
    for start in range(0, COUNT, CHUNK):
        cases = [rowset(number) for number in range(start, min(start + CHUNK, COUNT))]
        answers = ask("rows", cases=[case.coded() for case in cases], values=True)
        for case, answer in zip(cases, answers, strict=True):
            for options, compared in outcomes(case, answer):
                batches[options] += 1
                if isinstance(compared, BatchComparison):
                    cells.update(compared.cells)
                if "WRONG" in options:
                    wrong.append((case.number, getattr(compared, "wrong", compared)))

    print(dict(batches.most_common()), dict(cells.most_common()))  # noqa: T201  what one runs this for
    assert wrong[:3] == []
    assert set("+".join(batches).split("+")) <= {
        "equal",
        "two-keys-one-name",
        NAMELESS_KEY,
        *DIFFERENCES,
        *FAILURES.values(),
    }
    assert cells["equal"] > 0.95 * cells.total()


def digest(case: Case) -> str:
    """Return a digest of penstock's rows of a case."""
    result = []
    stored = Schema.from_dict(case.document).stored
    for batch in case.batches:
        decision = decide(stored, "t", gather(batch))
        stored = decision.schema
        result.append(with_row_numbers(reference_tables(decision, batch)))
    return sha256(json.dumps(result, sort_keys=True, default=str).encode()).hexdigest()[:16]


def recorded() -> dict[str, Any]:
    """Return the recorded part: the verdict of the comparison with dlt, and the digest."""
    cases = [rowset(number) for number in range(RECORDED)]
    return {"sets": [digest(case) for case in cases], "hard": {n: digest(c) for n, c in hard_cases().items()}}


@pytest.mark.parametrize("start", range(0, RECORDED, 100))
def test_row_sets_still_yield_the_values_compared_with_dlt(start: int) -> None:
    remaining = vector("values.json")["sets"]
    differing = [n for n in range(start, start + 100) if digest(rowset(n)) != remaining[n]]
    assert differing == [], "compare with dlt again, and record anew"


def test_hard_rows_still_yield_the_values_compared_with_dlt() -> None:
    assert {name: digest(case) for name, case in hard_cases().items()} == vector("values.json")["hard"]
