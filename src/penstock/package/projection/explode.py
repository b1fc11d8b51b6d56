"""The SQL of a projection: steps that unfold a nested dataset into the rows of one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.package.dlt_ids import ID_SEPARATOR
from penstock.package.projection.convert import converted_value
from penstock.package.projection.typed_values import StorageForm, ValueType, typed_value
from penstock.package.sql import literal, quote_name, variant_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.projection.model import (
        ColumnValue,
        FieldAccess,
        Level,
        OutputColumn,
        Projection,
        RowExclusion,
    )

_WITH_NULLS: Final = "map('ignoreNullFields', 'false')"
_ID, _PARENT, _INDEX, _ROW, _RAW = "`id`", "`parent`", "`idx`", "`row`", "`raw`"


@dataclass(frozen=True, slots=True)
class SelectStep:
    """One step: a filter, then a select list."""

    columns: tuple[str, ...]
    where: str | None = None


def id_digest(text: str) -> str:
    """SQL for an id of 80 bits over a text expression, in the 14 characters of dlt's ids."""
    return f"left(base64(substring(unhex(sha2({text}, 256)), 1, 10)), 14)"


def position_id(load_id: str, *, file: str, position: str) -> str:
    """SQL for the id of a row by its place, and nothing else: a file of the package, and a position in it.

    No clock, no random number: a retried task, a speculative copy and a second run of the package give the
    same ids. A file's name alone is not unique; its path inside the package is.
    """
    return id_digest(f"concat({literal(f'{load_id}/')}, {file}, '/', CAST({position} AS STRING))")


def projection_steps(projection: Projection, *, load_id: str) -> list[SelectStep]:
    """The steps to apply one after another to the nested dataset."""
    return list(_generate_steps(projection, load_id))


def _generate_steps(projection: Projection, load_id: str) -> Iterable[SelectStep]:
    carried: list[str] = []
    is_left_out = f"{_RAW} IS NULL" if projection.is_partial else None
    for number, level in enumerate(projection.levels):
        below = projection.levels[number + 1 :]
        if number:
            yield SelectStep(
                (
                    f"{_ID} AS {_PARENT}",
                    f"posexplode({level_elements(level)}) AS ({_INDEX}, {_ROW})",
                    *carried,
                )
            )
            made = _unhashed_id(number) if projection.is_hashed else _child_id(level.table)
            row_id = _with_own_id(level, made)
            yield SelectStep((_PARENT, _INDEX, f"{row_id} AS {_ID}", _ROW, *carried))
        elif level.own_id is not None:
            yield SelectStep((f"{_with_own_id(level, _ID)} AS {_ID}", _ROW), is_left_out)
            is_left_out = None
        where = _all_of([is_left_out, *(f"NOT {is_excluded(one)}" for one in level.refused)])
        is_left_out = None
        if below:
            passed = [f"{_column_sql(one)} AS {quote_name(one.name)}" for one in level.passed]
            passed += [f"{_ID} AS {quote_name(name)}" for name in level.passes_id]
            if where or passed:
                kept = [name for name in carried if name not in {quote_name(n) for n in _passed_names(level)}]
                yield SelectStep((_ID, _ROW, *kept, *passed), where)
                carried = [*kept, *(quote_name(name) for name in _passed_names(level))]
        else:
            yield from _final_steps(projection, where, load_id, carried)


def _passed_names(level: Level) -> tuple[str, ...]:
    return (*(one.name for one in level.passed), *level.passes_id)


def _final_steps(
    projection: Projection, where: str | None, load_id: str, carried: Sequence[str]
) -> Iterable[SelectStep]:
    """Values that take work are picked in a step of their own, so that they are picked once."""
    picks: dict[tuple[str, StorageForm, ValueType], str] = {}
    for column in projection.columns:
        for value in column.values:
            if not _is_simple(value):
                picks.setdefault((value.source_sql, value.stored, value.kind), f"`v{len(picks)}`")
    if picks:
        found = [f"{typed_value(*what)} AS {name}" for what, name in picks.items()]
        above = [_PARENT, _INDEX] if len(projection.levels) > 1 else []
        yield SelectStep((_ID, *above, _ROW, *carried, *found), where)
        where = None
    columns = {one.name: _column_sql(one, picks) for one in projection.columns}
    columns |= {name: f"CAST({quote_name(name)} AS {kind})" for name, kind in projection.inherited}
    if projection.is_root:
        columns["_dlt_load_id"] = literal(load_id)
    else:
        columns |= {"_dlt_parent_id": _PARENT, "_dlt_list_idx": f"CAST({_INDEX} AS BIGINT)"}
    columns["_dlt_id"] = _ID
    names = [*(name for name in projection.order if name in columns), *columns]
    yield SelectStep(tuple(f"{columns[name]} AS {quote_name(name)}" for name in dict.fromkeys(names)), where)


def level_elements(level: Level) -> str:
    """SQL for the elements that are the rows of a level."""
    lists = [list_elements(at, stored) for at, stored in level.lists]
    return lists[0] if len(lists) == 1 else f"coalesce({', '.join(lists)})"


def list_elements(value_path: FieldAccess, stored: StorageForm | None, *, row: str = "row") -> str:
    """SQL for the elements of a list; `stored` is None where they stand in an array."""
    if stored is None:
        return value_path.sql(row)
    return variant_value(quote_name(row, *value_path.path), value_path.inside, "array<variant>")


def _child_id(table: str) -> str:
    return id_digest(f"concat({_PARENT}, '_', {literal(table)}, '_', CAST({_INDEX} AS STRING))")


def _unhashed_id(number: int) -> str:
    return f"concat({_PARENT}, {literal(f'{ID_SEPARATOR}{number}{ID_SEPARATOR}')}, CAST({_INDEX} AS STRING))"


def _with_own_id(level: Level, default_id: str) -> str:
    return f"coalesce({_column_sql(level.own_id)}, {default_id})" if level.own_id else default_id


def _is_simple(value: ColumnValue) -> bool:
    """Whether the value needs no looking at: it is stored as what it is."""
    stored = ("bool", "bigint", "double", "text", "typed")
    return value.stored in stored and value.to == value.kind and not value.unless


def _column_sql(
    column: OutputColumn, value_columns: Mapping[tuple[str, StorageForm, ValueType], str] | None = None
) -> str:
    known = value_columns or {}
    found = [_value_sql(value, known) for value in column.values]
    value = "NULL" if not found else found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"
    return f"CAST({value} AS {column.sql_type})"


def _value_sql(value: ColumnValue, value_columns: Mapping[tuple[str, StorageForm, ValueType], str]) -> str:
    if _is_simple(value):
        # A type that came with the value is only given with documents.
        return f"to_json({value.source_sql}, {_WITH_NULLS})" if value.shape else value.source_sql
    what = (value.source_sql, value.stored, value.kind)
    source = value_columns.get(what) or typed_value(*what)
    found = converted_value(source, value.kind, value.to)
    if not value.unless:
        return found
    refused = [f"{converted_value(source, value.kind, other)} IS NULL" for other in value.unless]
    return f"CASE WHEN {' AND '.join(refused)} THEN {found} END"


def is_excluded(exclusion: RowExclusion) -> str:
    """SQL that tells whether a row is left out because of this value."""
    value = typed_value(exclusion.at.sql(), exclusion.stored, exclusion.kind)
    fits = [f"{converted_value(value, exclusion.kind, other)} IS NULL" for other in exclusion.unless]
    return f"({' AND '.join([f'{value} IS NOT NULL', *fits])})"


def _all_of(conditions: Iterable[str | None]) -> str | None:
    found = [condition for condition in conditions if condition]
    return " AND ".join(found) or None
