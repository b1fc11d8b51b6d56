"""The SQL of a projection: steps that unfold a nested dataset into the rows of one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.package.conversions import converted
from penstock.package.picking import Picked, Stored, picked
from penstock.package.shake import BREAK
from penstock.package.sql import inside_variant, literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.projection import Access, Level, OutputColumn, Projection, Refusal, Value

_WITH_NULLS: Final = "map('ignoreNullFields', 'false')"
_ID, _PARENT, _INDEX, _ROW, _RAW = "`id`", "`parent`", "`idx`", "`row`", "`raw`"


@dataclass(frozen=True, slots=True)
class Select:
    """One step: a filter, then a select list."""

    columns: tuple[str, ...]
    where: str | None = None


def digest(text: str) -> str:
    """SQL for an id of 80 bits over a text expression, in the 14 characters of dlt's ids."""
    return f"left(base64(substring(unhex(sha2({text}, 256)), 1, 10)), 14)"


def place_id(load_id: str, *, file: str, position: str) -> str:
    """SQL for the id of a row by its place, and nothing else: a file of the package, and a position in it.

    No clock, no random number: a retried task, a speculative copy and a second run of the package give the
    same ids. A file's name alone is not unique; its path inside the package is.
    """
    return digest(f"concat({literal(f'{load_id}/')}, {file}, '/', CAST({position} AS STRING))")


def selects(projection: Projection, *, load_id: str) -> list[Select]:
    """The steps to apply one after another to the nested dataset."""
    return list(_steps(projection, load_id))


def _steps(projection: Projection, load_id: str) -> Iterable[Select]:
    carried: list[str] = []
    is_left_out = f"{_RAW} IS NULL" if projection.is_partial else None
    for number, level in enumerate(projection.levels):
        below = projection.levels[number + 1 :]
        if number:
            yield Select(
                (f"{_ID} AS {_PARENT}", f"posexplode({elements_of(level)}) AS ({_INDEX}, {_ROW})", *carried)
            )
            made = _unfinished_id(number) if projection.is_hashed else _child_id(level.table)
            row_id = _with_own_id(level, made)
            yield Select((_PARENT, _INDEX, f"{row_id} AS {_ID}", _ROW, *carried))
        elif level.own_id is not None:
            yield Select((f"{_with_own_id(level, _ID)} AS {_ID}", _ROW), is_left_out)
            is_left_out = None
        where = _and([is_left_out, *(f"NOT {is_refused(one)}" for one in level.refused)])
        is_left_out = None
        if below:
            passed = [f"{_column(one)} AS {quoted(one.name)}" for one in level.passed]
            passed += [f"{_ID} AS {quoted(name)}" for name in level.passes_id]
            if where or passed:
                kept = [name for name in carried if name not in {quoted(n) for n in _names(level)}]
                yield Select((_ID, _ROW, *kept, *passed), where)
                carried = [*kept, *(quoted(name) for name in _names(level))]
        else:
            yield from _last(projection, where, load_id, carried)


def _names(level: Level) -> tuple[str, ...]:
    return (*(one.name for one in level.passed), *level.passes_id)


def _last(
    projection: Projection, where: str | None, load_id: str, carried: Sequence[str]
) -> Iterable[Select]:
    """Values that take work are picked in a step of their own, so that they are picked once."""
    picks: dict[tuple[str, Stored, Picked], str] = {}
    for column in projection.columns:
        for value in column.values:
            if not _is_simple(value):
                picks.setdefault((value.source, value.stored, value.kind), f"`v{len(picks)}`")
    if picks:
        found = [f"{picked(*what)} AS {name}" for what, name in picks.items()]
        above = [_PARENT, _INDEX] if len(projection.levels) > 1 else []
        yield Select((_ID, *above, _ROW, *carried, *found), where)
        where = None
    columns = {one.name: _column(one, picks) for one in projection.columns}
    columns |= {name: f"CAST({quoted(name)} AS {kind})" for name, kind in projection.inherited}
    if projection.is_root:
        columns["_dlt_load_id"] = literal(load_id)
    else:
        columns |= {"_dlt_parent_id": _PARENT, "_dlt_list_idx": f"CAST({_INDEX} AS BIGINT)"}
    columns["_dlt_id"] = _ID
    names = [*(name for name in projection.order if name in columns), *columns]
    yield Select(tuple(f"{columns[name]} AS {quoted(name)}" for name in dict.fromkeys(names)), where)


def elements_of(level: Level) -> str:
    """SQL for the elements that are the rows of a level."""
    lists = [elements_at(at, stored) for at, stored in level.lists]
    return lists[0] if len(lists) == 1 else f"coalesce({', '.join(lists)})"


def elements_at(at: Access, stored: Stored | None, *, row: str = "row") -> str:
    """SQL for the elements of a list; `stored` is None where they stand in an array."""
    if stored is None:
        return at.sql(row)
    return inside_variant(quoted(row, *at.path), at.inside, "array<variant>")


def _child_id(table: str) -> str:
    return digest(f"concat({_PARENT}, '_', {literal(table)}, '_', CAST({_INDEX} AS STRING))")


def _unfinished_id(number: int) -> str:
    return f"concat({_PARENT}, {literal(f'{BREAK}{number}{BREAK}')}, CAST({_INDEX} AS STRING))"


def _with_own_id(level: Level, otherwise: str) -> str:
    return f"coalesce({_column(level.own_id)}, {otherwise})" if level.own_id else otherwise


def _is_simple(value: Value) -> bool:
    """Whether the value needs no looking at: it is stored as what it is."""
    stored = ("bool", "bigint", "double", "text", "typed")
    return value.stored in stored and value.to == value.kind and not value.unless


def _column(column: OutputColumn, picks: Mapping[tuple[str, Stored, Picked], str] | None = None) -> str:
    known = picks or {}
    found = [_value(value, known) for value in column.values]
    value = "NULL" if not found else found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"
    return f"CAST({value} AS {column.sql_type})"


def _value(value: Value, picks: Mapping[tuple[str, Stored, Picked], str]) -> str:
    if _is_simple(value):
        # A type that came with the value is only given with documents.
        return f"to_json({value.source}, {_WITH_NULLS})" if value.shape else value.source
    what = (value.source, value.stored, value.kind)
    source = picks.get(what) or picked(*what)
    found = converted(source, value.kind, value.to)
    if not value.unless:
        return found
    refused = [f"{converted(source, value.kind, other)} IS NULL" for other in value.unless]
    return f"CASE WHEN {' AND '.join(refused)} THEN {found} END"


def is_refused(refusal: Refusal) -> str:
    """SQL that tells whether a row is left out because of this value."""
    value = picked(refusal.at.sql(), refusal.stored, refusal.kind)
    fits = [f"{converted(value, refusal.kind, other)} IS NULL" for other in refusal.unless]
    return f"({' AND '.join([f'{value} IS NOT NULL', *fits])})"


def _and(conditions: Iterable[str | None]) -> str | None:
    found = [condition for condition in conditions if condition]
    return " AND ".join(found) or None
