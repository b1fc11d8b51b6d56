"""Refusals of the contract as SQL: conditions for refused rows, counts, and the JSON that is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from penstock.normalize.nested_layout import Leaf, raw_key_sql_type
from penstock.normalize.plan import Planner
from penstock.normalize.unexpected import unconvertible_count
from penstock.package.projection.explode import is_excluded
from penstock.package.projection.typed_values import is_present, typed_value
from penstock.package.sql import literal
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.value_path import path_text, split_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.plan import DecidedValue, UncertainValue
    from penstock.normalize.row_hashes import RowHashSpec
    from penstock.package.projection.model import Level
    from penstock.schema.decision import ContractRefusal, Decision
    from penstock.schema.value_path import ValuePath

KEYLESS_RULE: Final = "primary_key: discard_row"
"""The rule that refuses rows without a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRows:
    """Rows that are refused for one reason, and the SQL condition that selects them."""

    condition: str
    reason: str
    path: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedNestedRows:
    """Nested rows of one table that the contract refuses: the levels down to them, and the reasons."""

    table: str
    levels: tuple[Level, ...]
    raw: str
    """SQL for the JSON of such a row; for a table that is refused, of the list of its rows."""
    rows: tuple[RefusedRows, ...]


def refused_rows(decision: Decision, layout: NestedLayout) -> list[RefusedRows]:
    """Return the root rows that are left out, one entry for each reason."""
    if () not in decision.tables:
        return [_as_refused_rows(refusal, "true") for refusal in decision.refusals if not refusal.path]
    planner = Planner(decision, layout)
    return [
        _as_refused_rows(refusal, condition)
        for refusal in decision.refusals
        if refusal.mode == "discard_row"
        for condition in _refusal_conditions(planner, refusal, ())
    ]


def excluded_rows(
    decision: Decision, layout: NestedLayout, hash_spec: RowHashSpec | None
) -> list[RefusedRows]:
    """Return all root rows that are left out, including those without the key that their ids are made of."""
    keyless = keyless_rows(hash_spec.keys, layout) if hash_spec else []
    return [*refused_rows(decision, layout), *keyless]


def keyless_rows(
    keys: Mapping[str, Sequence[Sequence[str]]] | None, layout: NestedLayout
) -> list[RefusedRows]:
    """Return the root rows without a part of the key: a merge would take all of them for one row."""
    return [
        RefusedRows(
            condition=f"NOT ({' OR '.join(_presence_conditions(paths, layout)) or 'false'})",
            reason=f"{column} is part of the primary key and has no value",
            path=path_text(tuple(paths[0])),
            rule=KEYLESS_RULE,
        )
        for column, paths in (keys or {}).items()
    ]


def _presence_conditions(paths: Sequence[Sequence[str]], layout: NestedLayout) -> Iterator[str]:
    for path in paths:
        try:
            node, access = layout.resolve(tuple(path))
        except KeyError:
            continue
        stored = node.storage_form if isinstance(node, Leaf) else "struct"
        yield f"coalesce({is_present(access.sql(), stored)}, false)"


def refused_nested_rows(decision: Decision, layout: NestedLayout) -> list[RefusedNestedRows]:
    """Return the rows of nested tables that are left out; the rows above them are kept."""
    planner = Planner(decision, layout)
    refusals_by_row: dict[ValuePath, list[ContractRefusal]] = {}
    for refusal in decision.refusals:
        row, _ = canonical_row_and_keys(refusal.path, is_list=refusal.type == "list")
        if refusal.mode == "discard_row" and row in decision.tables and row and planner.has_rows(row):
            refusals_by_row.setdefault(row, []).append(refusal)
    nested = (_as_refused_nested(planner, row, refusals) for row, refusals in refusals_by_row.items())
    return [*(refused for refused in nested if refused.rows), *_refused_tables(planner)]


def refusal_counts(decision: Decision, layout: NestedLayout) -> list[tuple[ContractRefusal, str]]:
    """Return each refusal with SQL that counts its values in a nested dataset.

    Root rows that are left out are counted by their reason in `raw`, other values by failed conversions.
    """
    planner = Planner(decision, layout)
    counts: list[tuple[ContractRefusal, str]] = []
    for refusal in decision.refusals:
        row, _ = canonical_row_and_keys(refusal.path, is_list=refusal.type == "list")
        if refusal.mode == "discard_row" and not row:
            rows = _as_refused_rows(refusal, "true")
            has_reason = f"raw.path = {literal(rows.path)} AND raw.reason = {literal(rows.reason)}"
            counts.append((refusal, f"count_if({has_reason})"))
        else:
            sums = (unconvertible_count(value, "row") for value in _uncertain_values(planner, refusal))
            counts += [(refusal, f"{total} FILTER (WHERE raw IS NULL)") for total in sums]
    return counts


def _as_refused_rows(refusal: ContractRefusal, condition: str) -> RefusedRows:
    return RefusedRows(
        condition=condition,
        reason=refusal.reason,
        path=path_text(refusal.path),
        rule=f"{refusal.entity}: {refusal.mode}",
    )


def _as_refused_nested(
    planner: Planner, row: ValuePath, refusals: Sequence[ContractRefusal]
) -> RefusedNestedRows:
    element, _ = planner.layout.resolve(split_row(refusals[0].path)[0])
    return RefusedNestedRows(
        table=planner.decision.tables[row],
        levels=planner.projection(row).levels,
        raw=_row_json(element),
        rows=tuple(
            _as_refused_rows(refusal, condition)
            for refusal in refusals
            for condition in _refusal_conditions(planner, refusal, row)
        ),
    )


def _refused_tables(planner: Planner) -> Iterator[RefusedNestedRows]:
    """Yield the lists whose table is refused; the rows that hold them are kept."""
    for refusal, row, decided in _refused_lists(planner):
        value = typed_value(decided.access.sql(), decided.storage_form, "list")
        yield RefusedNestedRows(
            table=refusal.table,
            levels=planner.projection(row).levels,
            raw=value,
            rows=(_as_refused_rows(refusal, f"{value} IS NOT NULL"),),
        )


def _refused_lists(planner: Planner) -> Iterator[tuple[ContractRefusal, ValuePath, DecidedValue]]:
    for refusal in planner.decision.refusals:
        if refusal.entity != "tables" or not refusal.path:
            continue
        lists = refusal.path[:-1]
        row, _ = canonical_row_and_keys(lists, is_list=True)
        for value in planner.values.get(row, {}).values():
            if (value.path, value.kind) == (lists, "list"):
                yield refusal, row, value


def _refusal_conditions(planner: Planner, refusal: ContractRefusal, row: ValuePath) -> Iterator[str]:
    """Yield SQL conditions for the rows that are left out because of a refusal."""
    if refusal.type == "null" and not split_row(refusal.path)[0]:
        yield _is_explicit_null(planner.layout, refusal.path)
        return
    for value in planner.values[row].values():
        if (value.path, value.kind) == (refusal.path, refusal.type):
            yield from map(is_excluded, planner.value_refusals(value))


def _is_explicit_null(layout: NestedLayout, path: ValuePath) -> str:
    """Return SQL for a key with an explicit null: the struct does not keep it apart from a missing key."""
    key = orjson.dumps(str(path[-1])).decode()
    has_null = f"contains(text, {literal(f'{key}:null')})"
    try:
        node, access = layout.resolve(path)
    except KeyError:
        return has_null
    stored = node.storage_form if isinstance(node, Leaf) else "struct"
    return f"(NOT {is_present(access.sql(), stored)} AND {has_null})"


def _uncertain_values(planner: Planner, refusal: ContractRefusal) -> Iterator[UncertainValue]:
    if refusal.entity == "tables":
        yield from (
            planner.uncertain_value(row, value)
            for list_refusal, row, value in _refused_lists(planner)
            if list_refusal is refusal
        )
        return
    row, _ = canonical_row_and_keys(refusal.path, is_list=refusal.type == "list")
    try:
        _, access = planner.layout.resolve(refusal.path)
    except KeyError:
        return
    value = planner.values.get(row, {}).get((access, refusal.type))
    if value is not None and refusal.type != "null":
        yield planner.uncertain_value(row, value)


def _row_json(node: LayoutNode) -> str:
    """Return SQL for the JSON of a nested row; keys without a value are lost."""
    match node:
        case Leaf(storage_form="json"):
            return "row"
        case Leaf(storage_form="mixed"):
            return "to_json(row)"
        case Leaf():
            in_list = "to_json(array(row))"
            return f"substring({in_list}, 2, length({in_list}) - 2)"
        case _:
            return f"to_json(CAST(row AS {raw_key_sql_type(node)}))"
