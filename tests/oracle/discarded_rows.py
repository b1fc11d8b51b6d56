"""Decisions applied in Python: discarded rows, and the number of rows of each table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.schema import EACH, Decision, InferenceOptions, Rule, StoredSchema, decide, gather
from penstock.schema.convert import convert_value
from penstock.schema.observation import observe_value, typed_value

if TYPE_CHECKING:
    from penstock.schema import ValuePath


def decide_with_discards(
    stored: StoredSchema, table: str, rows: list[Any], terms: InferenceOptions
) -> tuple[Decision, list[Any], Decision]:
    """Decide, discard the refused rows, and decide again by the remaining ones.

    A discarded row must not change the schema. Return the last decision, the remaining rows, and the first
    decision, which has the refusals.
    """
    first = decide(stored, table, gather(rows), terms)
    remaining = [_pruned(row, (), first) for row in rows if _remains(row, (), first)]
    return decide(stored, table, gather(remaining), terms), remaining, first


def row_counts(rows: list[Any], decision: Decision) -> dict[str, int]:
    """Count the rows of each table."""
    counts: Counter[str] = Counter()
    for row in rows:
        _count(row, (), decision, counts)
    return dict(counts)


def _count(row: Any, path: ValuePath, decision: Decision, counts: Counter[str]) -> None:
    if path not in decision.tables:
        return
    counts[decision.tables[path]] += 1
    for at, elements in _lists(row, path):
        if decision.rule(at, "list").action == "rows":
            for element in elements:
                _count(element, (*at, EACH), decision, counts)


def _remains(row: Any, path: ValuePath, decision: Decision) -> bool:
    return not any(_action(at, value, decision) == "discard_row" for at, value in _values(row, path))


def _pruned(row: Any, path: ValuePath, decision: Decision) -> Any:
    """Return the row without discarded elements of its lists."""
    if not isinstance(row, Mapping):
        return row
    pruned: dict[str, Any] = {}
    for key, value in row.items():
        at = (*path, key)
        if isinstance(value, list):
            pruned[key] = [
                _pruned(element, (*at, EACH), decision)
                for element in value
                if _remains(element, (*at, EACH), decision)
            ]
        else:
            pruned[key] = _pruned(value, at, decision)
    return pruned


def _values(row: Any, path: ValuePath) -> list[tuple[ValuePath, Any]]:
    if not isinstance(row, Mapping):
        return [(path, row)]
    return [
        pair
        for key, value in row.items()
        for pair in _values(value, (*path, key))
        if not isinstance(value, list)
    ]


def _lists(row: Any, path: ValuePath) -> list[tuple[ValuePath, list[Any]]]:
    if not isinstance(row, Mapping):
        return []
    result: list[tuple[ValuePath, list[Any]]] = []
    for key, value in row.items():
        at = (*path, key)
        result.extend([(at, value)] if isinstance(value, list) else _lists(value, at))
    return result


def _action(path: ValuePath, value: Any, decision: Decision) -> str:
    rule: Rule | None = decision.rules.get((path, observe_value(value).type))
    while rule is not None and rule.action == "convert" and rule.data_type is not None:
        kind, plain = typed_value(value)
        try:
            convert_value(plain, kind, rule.data_type)
        except ValueError:
            rule = rule.otherwise
        else:
            break
    return rule.action if rule else "nothing"
