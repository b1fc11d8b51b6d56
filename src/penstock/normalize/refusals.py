"""What the contract refuses, as SQL: which rows are left out, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from penstock.normalize.leftover import count_unfit
from penstock.normalize.plan import Planner
from penstock.normalize.stored import Leaf, keyed_type
from penstock.package.picking import is_present, picked
from penstock.package.sql import literal
from penstock.package.unfold import is_refused
from penstock.schema.layout import canonical
from penstock.schema.path import path_text, split_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.normalize.plan import Doubt, Placed
    from penstock.normalize.rowids import Hashing
    from penstock.normalize.stored import Dataset, Node
    from penstock.package.projection import Level
    from penstock.schema.decision import Decision, Refusal
    from penstock.schema.path import Path

KEYLESS: Final = "primary_key: discard_row"
"""The rule that refuses rows without a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRows:
    """Rows that the contract refuses for one reason, and the SQL that tells them."""

    condition: str
    reason: str
    path: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedNested:
    """Nested rows of one table that the contract refuses: the way to them, and why each is refused."""

    table: str
    levels: tuple[Level, ...]
    raw: str
    """SQL for the JSON of such a row; for a table that is refused, of the list of its rows."""
    rows: tuple[RefusedRows, ...]


def refused_rows(decision: Decision, dataset: Dataset) -> list[RefusedRows]:
    """Which root rows are left out as a whole, one entry for each thing that is refused in them."""
    if () not in decision.tables:
        return [_refused(one, "true") for one in decision.refusals if not one.path]
    planner = Planner(decision, dataset)
    return [
        _refused(refusal, condition)
        for refusal in decision.refusals
        if refusal.mode == "discard_row"
        for condition in _conditions(planner, refusal, ())
    ]


def left_out(decision: Decision, dataset: Dataset, hashing: Hashing | None) -> list[RefusedRows]:
    """All root rows that are left out; `hashing` says what their ids are made of."""
    keyless = keyless_rows(hashing.keys, dataset) if hashing else []
    return [*refused_rows(decision, dataset), *keyless]


def keyless_rows(keys: Mapping[str, Sequence[Sequence[str]]] | None, dataset: Dataset) -> list[RefusedRows]:
    """Root rows that are to be merged by a key and lack a part of it: all of them would be one row."""
    return [
        RefusedRows(
            condition=f"NOT ({' OR '.join(_present(paths, dataset)) or 'false'})",
            reason=f"{column} is part of the primary key and has no value",
            path=path_text(tuple(paths[0])),
            rule=KEYLESS,
        )
        for column, paths in (keys or {}).items()
    ]


def _present(paths: Sequence[Sequence[str]], dataset: Dataset) -> Iterator[str]:
    for path in paths:
        try:
            node, access = dataset.reach(tuple(path))
        except KeyError:
            continue
        stored = node.stored if isinstance(node, Leaf) else "struct"
        yield f"coalesce({is_present(access.sql(), stored)}, false)"


def refused_nested(decision: Decision, dataset: Dataset) -> list[RefusedNested]:
    """Which rows of nested tables are left out; those above them stay."""
    planner = Planner(decision, dataset)
    found: dict[Path, list[Refusal]] = {}
    for refusal in decision.refusals:
        row, _ = canonical(refusal.path, is_list=refusal.type == "list")
        if refusal.mode == "discard_row" and row in decision.tables and row and planner.has_rows(row):
            found.setdefault(row, []).append(refusal)
    nested = (_nested(planner, row, refusals) for row, refusals in found.items())
    return [*(one for one in nested if one.rows), *_tables(planner)]


def counts_of(decision: Decision, dataset: Dataset) -> list[tuple[Refusal, str]]:
    """What the contract refuses, and SQL that counts it in a nested dataset.

    Root rows that are left out say why; else those values count that none of the columns takes.
    """
    planner = Planner(decision, dataset)
    found: list[tuple[Refusal, str]] = []
    for refusal in decision.refusals:
        row, _ = canonical(refusal.path, is_list=refusal.type == "list")
        if refusal.mode == "discard_row" and not row:
            said = _refused(refusal, "true")
            is_said = f"raw.path = {literal(said.path)} AND raw.reason = {literal(said.reason)}"
            found.append((refusal, f"count_if({is_said})"))
        else:
            sums = (count_unfit(place, "row") for place in _places(planner, refusal))
            found += [(refusal, f"{one} FILTER (WHERE raw IS NULL)") for one in sums]
    return found


def _refused(refusal: Refusal, condition: str) -> RefusedRows:
    return RefusedRows(
        condition=condition,
        reason=refusal.reason,
        path=path_text(refusal.path),
        rule=f"{refusal.entity}: {refusal.mode}",
    )


def _nested(planner: Planner, row: Path, refusals: Sequence[Refusal]) -> RefusedNested:
    element, _ = planner.dataset.reach(split_row(refusals[0].path)[0])
    return RefusedNested(
        table=planner.decision.tables[row],
        levels=planner.projection(row).levels,
        raw=_as_json(element),
        rows=tuple(
            _refused(refusal, condition)
            for refusal in refusals
            for condition in _conditions(planner, refusal, row)
        ),
    )


def _tables(planner: Planner) -> Iterator[RefusedNested]:
    """Lists whose table is refused; the rows that hold them stay."""
    for refusal, row, placed in _lists(planner):
        value = picked(placed.access.sql(), placed.stored, "list")
        yield RefusedNested(
            table=refusal.table,
            levels=planner.projection(row).levels,
            raw=value,
            rows=(_refused(refusal, f"{value} IS NOT NULL"),),
        )


def _lists(planner: Planner) -> Iterator[tuple[Refusal, Path, Placed]]:
    for refusal in planner.decision.refusals:
        if refusal.entity != "tables" or not refusal.path:
            continue
        lists = refusal.path[:-1]
        row, _ = canonical(lists, is_list=True)
        for placed in planner.values.get(row, {}).values():
            if (placed.path, placed.kind) == (lists, "list"):
                yield refusal, row, placed


def _conditions(planner: Planner, refusal: Refusal, row: Path) -> Iterator[str]:
    """SQL that tells the rows that are left out because of it."""
    if refusal.type == "null" and not split_row(refusal.path)[0]:
        yield _is_null(planner.dataset, refusal.path)
        return
    for placed in planner.values[row].values():
        if (placed.path, placed.kind) == (refusal.path, refusal.type):
            yield from map(is_refused, planner.refusal(placed))


def _is_null(dataset: Dataset, path: Path) -> str:
    """In the struct a key without a value is like one that is missing; in the text it is not."""
    key = orjson.dumps(str(path[-1])).decode()
    said = f"contains(text, {literal(f'{key}:null')})"
    try:
        node, access = dataset.reach(path)
    except KeyError:
        return said
    stored = node.stored if isinstance(node, Leaf) else "struct"
    return f"(NOT {is_present(access.sql(), stored)} AND {said})"


def _places(planner: Planner, refusal: Refusal) -> Iterator[Doubt]:
    if refusal.entity == "tables":
        yield from (planner.doubt(row, found) for one, row, found in _lists(planner) if one is refusal)
        return
    row, _ = canonical(refusal.path, is_list=refusal.type == "list")
    try:
        _, access = planner.dataset.reach(refusal.path)
    except KeyError:
        return
    placed = planner.values.get(row, {}).get((access, refusal.type))
    if placed is not None and refusal.type != "null":
        yield planner.doubt(row, placed)


def _as_json(node: Node) -> str:
    """SQL for the JSON of a nested row, as it came but for keys without a value."""
    match node:
        case Leaf(stored="json"):
            return "row"
        case Leaf(stored="mixed"):
            return "to_json(row)"
        case Leaf():
            in_list = "to_json(array(row))"
            return f"substring({in_list}, 2, length({in_list}) - 2)"
        case _:
            return f"to_json(CAST(row AS {keyed_type(node)}))"
