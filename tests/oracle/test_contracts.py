from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.contract_cases import COUNT, ContractCase, contract_case
from tests.oracle.discarded_rows import decide_with_discards, row_counts
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.test_rows import digest, shape

from penstock.errors import DataValidationError
from penstock.schema import InferenceOptions, Schema, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.schema import StoredSchema

CHUNK = 100
FACTS = ("table_name", "column_name", "schema_entity", "contract_mode")


def prepared(case: ContractCase) -> StoredSchema:
    """Return the schema after extract: the root table is declared, and its first run may add columns."""
    schema = Schema("oracle")
    schema.set_schema_contract(case.schema)
    return schema.stored


def declared(stored: StoredSchema, case: ContractCase) -> StoredSchema:
    own = {"schema_contract": case.table} if case.table is not None else {}
    table = Table(name="t", extras=own).with_root_defaults()
    existing = stored.tables.get("t")
    return stored.with_tables([existing.merged(table) if existing else table])


def outcomes(case: ContractCase) -> list[dict[str, Any]]:
    stored = prepared(case)
    result: list[dict[str, Any]] = []
    for batch in case.batches:
        decision, remaining, first = decide_with_discards(
            declared(stored, case), "t", list(batch), InferenceOptions(contract=case.run)
        )
        try:
            first.check()
        except DataValidationError as error:
            facts = vars(error)
            result.append({"error": [facts[name] for name in FACTS]})
            break
        if () not in first.tables:
            # A refused root is not declared either.
            decision = first = replace(first, schema=stored)
        stored = decision.schema
        result.append(
            {"tables": shape(decision), "rows": row_counts(remaining, decision), "first": shape(first)}
        )
    return result


def compared(answers: list[dict[str, Any]]) -> list[Any]:
    """Return the comparable outcome: tables, loaded rows, and the error."""
    return [
        answer["error"]
        if "error" in answer
        else [answer["tables"], {table: count for table, count in answer["rows"].items() if count}]
        for answer in answers
    ]


def has_nested_first_run(case: ContractCase) -> bool:
    """Return whether a new list of a batch has elements with different keys."""
    existing: set[str] = set()
    for batch in case.batches:
        keys: dict[str, set[tuple[str, ...]]] = {}
        for row in batch:
            for name, elements in row.items():
                if isinstance(elements, list):
                    keys.setdefault(name, set()).update(tuple(element) for element in elements)
        if any(len(sets) > 1 for name, sets in keys.items() if name not in existing):
            return True
        existing |= keys.keys()
    return False


def has_null_after_value(case: ContractCase) -> bool:
    """Return whether a new key of a batch has a value first and a null later."""
    existing: set[str] = set()
    for batch in case.batches:
        given: set[str] = set()
        for row in batch:
            if any(value is None and key in given - existing for key, value in row.items()):
                return True
            given |= {key for key, value in row.items() if value is not None}
        existing |= given if batch is case.batches[0] else set()
    return False


def verdict(case: ContractCase, expected: list[dict[str, Any]]) -> str:
    actual = outcomes(case)
    if compared(actual) == compared(expected):
        return "equal"
    if has_nested_first_run(case):
        return "nested-first-run"
    if has_null_after_value(case):
        return "a-null-for-a-refused-column"
    unpruned = [
        {**own_result, "tables": own_result["first"]} if "first" in own_result else own_result
        for own_result in actual
    ]
    return "a-row-left-out-leaves-columns-behind" if compared(unpruned) == compared(expected) else "WRONG"


def answers() -> Iterator[tuple[ContractCase, list[dict[str, Any]]]]:
    for start in range(0, COUNT, CHUNK):
        cases = [contract_case(number) for number in range(start, start + CHUNK)]
        yield from zip(cases, ask("contracts", cases=[case.coded() for case in cases]), strict=True)


def recorded(case: ContractCase, expected: list[dict[str, Any]]) -> list[str]:
    """Return the recorded part of an answer: the verdict and the digest."""
    return [verdict(case, expected), digest(compared(expected))]


@needs_dlt
def test_contracts_have_the_outcomes_of_dlt() -> None:
    verdicts: Counter[str] = Counter()
    wrong = []
    for case, expected in answers():
        options = verdict(case, expected)
        verdicts[options] += 1
        if options == "WRONG":
            wrong.append(case.number)

    print(dict(verdicts.most_common()))  # noqa: T201  the figures are what one runs this for
    assert wrong == []
    assert verdicts["equal"] >= 500


@pytest.mark.parametrize("start", range(0, COUNT, CHUNK))
def test_recorded_contracts_still_have_the_outcomes_of_dlt(start: int) -> None:
    vectors = vector("contracts.json")
    for number in range(start, start + CHUNK):
        options, remaining = vectors[number]
        if options == "equal":
            assert digest(compared(outcomes(contract_case(number)))) == remaining, number
