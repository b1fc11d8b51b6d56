"""Outcomes of merge histories in a database, after each of their loads, with dlt and with penstock."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.oracle.merge_histories import drifting_history
from tests.oracle.merge_outcomes import BRIDGE, ROOT_KEY, UPDATE_ERRORS, without_differences
from tests.oracle.oracle_client import ask

import penstock
from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.oracle.database_content import Content

    from penstock.pipeline.pipeline import Pipeline

History = dict[str, Any]
Outcome = dict[str, Any]
"""The outcome of each load, and the error of the one that failed."""

RECORDED = (1013, 1015, 1016, 1017, 1019, 1102)
"""Seeds of small histories with each strategy, and with each kind of value that was not declared."""
_STABLE_IDS = frozenset(("upsert", "insert-only", "scd2"))
_ROOT_ID = "_dlt_root_id"
_LINKS = ("_dlt_id", "_dlt_parent_id", _ROOT_ID)


def dlt_outcomes(seeds: Iterable[int], postgres: str | None = None) -> dict[str, Outcome]:
    """Return the outcomes of dlt in DuckDB, or in the Postgres of this address, by seed."""
    histories = [drifting_history(seed) for seed in seeds]
    answers = ask("merges", bridge=BRIDGE, histories=histories, postgres=postgres)
    return {
        case["name"][1:]: {
            **answers[case["name"]],
            "loads": [load_outcome(case, tables) for tables in answers[case["name"]]["loads"]],
        }
        for case in histories
    }


def penstock_outcomes(
    pipeline: Pipeline, seeds: Iterable[int], content: Callable[[], Content]
) -> dict[str, Outcome]:
    """Load all histories as resources of one pipeline; `content` reads its dataset."""
    histories = [drifting_history(seed) for seed in seeds]
    result: dict[str, Outcome] = {case["name"][1:]: {"loads": []} for case in histories}
    for number in range(max(len(case["loads"]) for case in histories)):
        going_on = [case for case in histories if number < len(case["loads"])]
        info = pipeline.run([_resource(case, number) for case in going_on])
        assert not info.has_failed_jobs, info
        tables = content()
        for case in going_on:
            own = {table: rows for table, rows in tables.items() if table.split("__")[0] == case["name"]}
            result[case["name"][1:]]["loads"].append(load_outcome(case, own))
    return result


def _resource(case: History, number: int) -> Any:
    load = case["loads"][number]
    return penstock.resource(
        load["rows"],
        name=case["name"],
        write_disposition=load["write_disposition"],
        primary_key=case["primary_key"] or None,
        merge_key=case["merge_key"] or None,
        columns=case["columns"],
    )


def load_outcome(case: History, content: Content) -> Outcome:
    """Return columns, rows as documents with the numbers of their loads, and ids made of keys or rows."""
    rows = {
        table: [
            {"load" if name == "_dlt_load_id" else name: value for name, value in row.items()}
            for row in item["rows"]
        ]
        for table, item in content.items()
    }
    strategies = {_strategy(load) for load in case["loads"]}
    ids = {
        table: sorted([row.get(name) for name in _LINKS] for row in item["rows"])
        for table, item in content.items()
        if strategies <= _STABLE_IDS
    }
    columns = {table: list(item["columns"].items()) for table, item in content.items()}
    outcome: Outcome = {**documents(rows, case["name"]), "columns": columns, "ids": ids}
    # As it is recorded.
    result: Outcome = json.loads(json.dumps(outcome))
    return result


def _strategy(load: Mapping[str, Any]) -> str:
    disposition = load["write_disposition"]
    strategy: str = disposition["strategy"] if isinstance(disposition, dict) else disposition
    return strategy


def compare(
    seeds: Iterable[int], actual: Mapping[str, Outcome], expected: Mapping[str, Outcome]
) -> tuple[Counter[str], dict[str, list[str]]]:
    """Fail on a difference without a name; return what was compared, and the named differences."""
    compared: Counter[str] = Counter()
    named: dict[str, list[str]] = {}
    wrong: dict[str, Any] = {}
    for case in map(drifting_history, seeds):
        seed = case["name"][1:]
        theirs = expected[seed]
        compared.update(("histories", case["kind"], *case["traits"]))
        if "error" in theirs:
            *_, names = without_differences(case, actual[seed], {"error": _error_names(theirs["error"])})
            named[seed] = names
        for number, load in enumerate(theirs["loads"]):
            names, parts = _differing_parts(case, number, actual[seed]["loads"][number], load)
            compared.update({"loads": 1, "tables": len(load["columns"]), "rows": len(load["rows"])})
            if names:
                named[seed] = sorted({*named.get(seed, ()), *names})
            if parts:
                wrong[f"{case['kind']} {seed}, load {number}"] = parts
    assert not wrong, f"{len(wrong)} of {compared['loads']} loads: {json.dumps(wrong, indent=1)}"
    return compared, named


def _without_root_keys(
    own: dict[str, list[list[str]]], theirs: dict[str, list[list[str]]]
) -> tuple[dict[str, list[list[str]]], bool]:
    """Return columns without root keys of tables that have none with dlt, and whether there were any."""
    result = {
        table: columns
        if any(name == _ROOT_ID for name, _ in theirs.get(table, columns))
        else [column for column in columns if column[0] != _ROOT_ID]
        for table, columns in own.items()
    }
    return result, result != own


def _error_names(text: str) -> list[str]:
    return [name for name in UPDATE_ERRORS if name in text]


def _differing_parts(
    case: History, number: int, actual: Outcome, expected: Outcome
) -> tuple[list[str], dict[str, Any]]:
    """Return the named differences after a load, and what differs besides."""
    begun = [_strategy(load) for load in case["loads"][: number + 1]]
    # Before its replace a history is one of upserts.
    kind = begun[0] if set(begun) == {"upsert"} else case["kind"]
    own, theirs, names = without_differences({**case, "kind": kind}, actual, expected)
    parts = ("columns",) if names else ("columns", "ids")
    own |= {part: actual[part] for part in parts}
    theirs |= {part: expected[part] for part in parts}
    if kind.endswith(">append"):
        own["columns"], is_different = _without_root_keys(own["columns"], theirs["columns"])
        names += [ROOT_KEY] if is_different else []
    return names, {
        part: {"penstock": own[part], "dlt": theirs[part]} for part in own if own[part] != theirs[part]
    }
