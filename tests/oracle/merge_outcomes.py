"""Outcomes of merge histories with dlt, and the intended differences of penstock."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.oracle.merge_histories import history
from tests.oracle.oracle_client import ask

from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Iterable

BRIDGE = Path(__file__).parent / "merge_bridge.py"
RECORDED = (4, 11, 19, 33, 97, 153, 254, 275, 335, 480)
"""Seeds of small histories that cover each strategy and feature."""

REFUSED = "a-merge-after-appends"
FLAGGED = "upsert-of-flagged-rows"
ORPHANS = "upsert-after-delete-insert"
NESTED = "insert-only-of-flagged-rows"
UPDATE_ERRORS = ("SchemaUpdateTerminalError", "SchemaUpdateTransientError")
"""What dlt raises when a table cannot get a column: by the version of DuckDB either."""
ROOT_KEY = "root-key-after-merges"
DIFFERENCES = (REFUSED, FLAGGED, ORPHANS, NESTED, ROOT_KEY)
"""The intended differences, by their names in the documentation."""


def dlt_outcomes(seeds: Iterable[int]) -> dict[str, Any]:
    """Return the comparable outcomes of dlt by seed."""
    histories = [history(seed) for seed in seeds]
    answers = ask("merges", bridge=BRIDGE, histories=histories)
    return {item["name"][1:]: _answer(item, answers[item["name"]]) for item in histories}


def _answer(case: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        return {"error": re.findall(r"<class '[\w.]*?(\w+)'>", answer["error"])}
    tables = {table: content["rows"] for table, content in answer["loads"][-1].items()}
    return documents(tables, case["name"])


def without_differences(
    case: dict[str, Any], actual: dict[str, Any], expected: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return both outcomes of a history without intended differences, and the names of the differences."""
    kind, names = case["kind"], []
    if "error" in expected:
        assert kind.startswith(("append", "replace")), expected
        assert expected["error"][0] in UPDATE_ERRORS, expected
        return {}, {}, [REFUSED]
    rows, orphans = expected["rows"], expected["orphans"]
    # A replace keeps every row, flagged or not.
    if "upsert" in kind and not kind.endswith("replace"):
        remaining = [row for row in rows if not _is_flagged(case, row)]
        names += [FLAGGED] if remaining != rows else []
        rows = remaining
    if kind == "delete-insert>upsert" and orphans:
        names.append(ORPHANS)
        orphans = {}
    own_result = actual["rows"]
    keys = _flagged_keys(case)
    if keys and (orphans or rows != own_result):
        # The nested rows of a flagged row exist, and become those of a later row with its key.
        names.append(NESTED)
        rows, own_result = (_without_lists(case, result, keys) for result in (rows, own_result))
        orphans = {}
    return {"rows": own_result, "orphans": actual["orphans"]}, {"rows": rows, "orphans": orphans}, names


def _is_flagged(case: dict[str, Any], row: dict[str, Any]) -> bool:
    flag = row.get("deleted")
    return bool(case["columns"]["deleted"].get("hard_delete")) and flag is not None and flag is not False


def _flagged_keys(case: dict[str, Any]) -> set[Any]:
    """Return the keys of flagged rows with nested rows in insert-only loads."""
    loads = [load for load in case["loads"] if _strategy(load) == "insert-only"]
    rows = [row for load in loads for row in load["rows"]]
    return {_key(case, row) for row in rows if _is_flagged(case, row) and _has_nested_rows(row)}


def _has_nested_rows(row: dict[str, Any]) -> bool:
    return any(isinstance(value, list) and value for value in row.values())


def _strategy(load: dict[str, Any]) -> str | None:
    disposition = load["write_disposition"]
    return disposition.get("strategy") if isinstance(disposition, dict) else None


def _without_lists(case: dict[str, Any], rows: list[dict[str, Any]], keys: set[Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if not isinstance(value, list)}
        if _key(case, row) in keys
        else row
        for row in rows
    ]


def _key(case: dict[str, Any], row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in case["primary_key"])
