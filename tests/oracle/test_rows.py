from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.row_sets import COUNT, RECORDED, Case, rowset
from tests.oracle.type_differences import DIFFERENCES, look_without

from penstock.schema import Schema, decide, gather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.schema import Decision

CHUNK = 250
UNCOMPARED = ("name", "description")
NAMELESS = ("", "__")
FAILURES = {
    "CannotCoerceNullException": "null-in-a-column-that-must-have-a-value",
    "CannotCoerceColumnException": "a-value-that-its-variant-cannot-take",
    "OSError": "an-epoch-past-the-calendar",
}
"""Cases in which dlt fails and penstock continues: a row is refused, or a value gets a variant."""


UNCOMPARABLE = ("two-keys-one-name", "a-key-without-a-name")


def shape(decision: Decision) -> dict[str, Any]:
    return {
        name: {
            "parent": table.parent,
            "columns": [
                [column, {key: options for key, options in facts.to_dict().items() if key not in UNCOMPARED}]
                for column, facts in table.columns.items()
            ],
        }
        for name, table in decision.schema.tables.items()
        if not name.startswith("_dlt")
    }


def outcome(case: Case, *switched_off: str) -> list[Decision]:
    stored = Schema.from_dict(case.document).stored
    decisions = []
    for batch in case.batches:
        decision = decide(stored, "t", gather(batch, observe=look_without(*switched_off)))
        stored = decision.schema
        decisions.append(decision)
    return decisions


def verdict(case: Case, dlt_result: list[dict[str, Any]]) -> str:
    """Return `equal`, or the name of the intended difference that explains the case; fail otherwise."""
    plain = outcome(case)
    if case.keys & set(NAMELESS):
        return "a-key-without-a-name"
    if any(decision.collisions for decision in plain):
        return "two-keys-one-name"
    if "error" in dlt_result[-1]:
        return FAILURES.get(dlt_result[-1]["error"], f"WRONG {dlt_result[-1]['error']}")
    expected = [answer["tables"] for answer in dlt_result]
    if [shape(decision) for decision in plain] == expected:
        return "equal"
    if [shape(decision) for decision in outcome(case, *DIFFERENCES)] != expected:
        return "WRONG"
    needed = [
        name
        for name in DIFFERENCES
        if [shape(d) for d in outcome(case, *(other for other in DIFFERENCES if other != name))] != expected
    ]
    return "+".join(needed) or "several"


def digest(shapes: list[Any]) -> str:
    return sha256(json.dumps(shapes, sort_keys=True).encode()).hexdigest()[:16]


def answers(first: int, last: int) -> Iterator[tuple[Case, list[dict[str, Any]]]]:
    for start in range(first, last, CHUNK):
        cases = [rowset(number) for number in range(start, min(start + CHUNK, last))]
        yield from zip(cases, ask("rows", cases=[case.coded() for case in cases]), strict=True)


def recorded(case: Case, expected: list[dict[str, Any]]) -> list[str]:
    """Return the recorded part of an answer: the verdict, and the digest of a comparable result."""
    options = verdict(case, expected)
    compared = "error" not in expected[-1] and options not in UNCOMPARABLE
    return [options, digest([answer["tables"] for answer in expected])] if compared else [options]


@needs_dlt
def test_row_sets_yield_the_tables_and_columns_of_dlt() -> None:
    verdicts: Counter[str] = Counter()
    wrong = []
    for case, expected in answers(0, COUNT):
        options = verdict(case, expected)
        verdicts[options] += 1
        if "WRONG" in options:
            wrong.append((case.number, options))

    print(dict(verdicts.most_common()))  # noqa: T201  the figures are what one runs this for
    assert wrong == []
    assert verdicts["equal"] >= 2_000


@pytest.mark.parametrize("start", range(0, RECORDED, 100))
def test_recorded_row_sets_still_yield_the_tables_of_dlt(start: int) -> None:
    vectors = vector("rows.json")
    for number in range(start, start + 100):
        options, *remaining = vectors[number]
        case = rowset(number)
        switched_off = () if options == "equal" else tuple(DIFFERENCES)
        decisions = outcome(case, *switched_off)
        if remaining:
            assert digest([shape(decision) for decision in decisions]) == remaining[0], (number, options)
