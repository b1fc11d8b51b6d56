"""Adapters set the hints that those of dlt set, and refuse what those refuse."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import pytest
from tests.oracle.adapter_cases import CASES, RESOURCE, changes
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.snippet_runner import coded

import penstock
from penstock.destinations import adapters
from penstock.errors import UsageError

DECLARED_COLUMNS_ARE_KEPT: Final = {"bigquery, ranges"}
"""dlt drops all declared columns where a call of bigquery_adapter sets no hint of a column."""


def with_times_as_texts(coded_value: Any) -> Any:
    """Return a coded value with texts for timestamps, which penstock's schemas do not store."""
    if not isinstance(coded_value, dict):
        return coded_value
    if coded_value.get("$") == "timestamp":
        return coded_value["v"]
    return {key: with_times_as_texts(item) for key, item in coded_value.items()}


def argument(given: Any) -> Any:
    if isinstance(given, list):
        return [argument(item) for item in given]
    if isinstance(given, dict) and "$partition" in given:
        kind, method, *rest = given["$partition"]
        return getattr(getattr(adapters, kind), method)(*rest)
    return given


def adapted(calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any] | None:
    """Return the changes by the calls; None if one is refused."""
    resource = penstock.resource([{"id": 1}], name="rows", **deepcopy(RESOURCE))
    try:
        for name, given in calls:
            arguments = {key: argument(item) for key, item in given.items()}
            resource = getattr(adapters, name)(resource, **arguments)
    except UsageError:
        return None
    return changes(coded(resource.compute_table_schema()))


@pytest.mark.parametrize("case", CASES)
def test_adapters_set_the_hints_of_dlt(case: str) -> None:
    expected = with_times_as_texts(vector("adapters.json")[case])

    result = adapted(CASES[case])

    if case in DECLARED_COLUMNS_ARE_KEPT:
        assert expected["lost"] == sorted(RESOURCE["columns"])
        expected["lost"] = []
    assert result == expected


@needs_dlt
def test_dlt_still_sets_the_recorded_hints() -> None:
    answer = ask("adapters", resource=RESOURCE, cases=CASES)

    assert {name: changes(table) for name, table in answer.items()} == vector("adapters.json")
