"""The SQL of a projection: steps that explode a nested dataset into the rows of one table."""

from __future__ import annotations

import base64
import hashlib
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
    """Return SQL for an 80-bit id over a text expression, in 14 characters like dlt's ids."""
    return f"left(base64(substring(unhex(sha2({text}, 256)), 1, 10)), 14)"


def digest_of(text: str) -> str:
    """Return the id that `id_digest` computes in SQL."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:10])[:14].decode("ascii")


def position_id(load_id: str, *, file: str, position: str) -> str:
    """Return SQL for the id of a row by its position: the path of its file in the package, and its index.

    It is deterministic: a retried task, a speculative copy and a second run of the package produce the same
    ids. The name of a file alone is not unique.
    """
    return id_digest(f"concat({literal(f'{load_id}/')}, {file}, '/', CAST({position} AS STRING))")


def task_position_id(load_id: str, *, folder: str) -> str:
    """Return SQL for the id of a row that Spark writes to a folder of a package, by its task and number.

    Only for ids that are written with the rows: a retried task may give them to other rows, but replaces its
    whole file. The digest is constant, so that the ids compress well and cost no hash for each row.
    """
    digest = id_digest(literal(f"{load_id}/{folder}"))
    return f"concat({digest}, '-', CAST(monotonically_increasing_id() AS STRING))"


def projection_steps(projection: Projection, *, load_id: str) -> list[SelectStep]:
    """Return the steps to apply to the nested dataset, in order."""
    return list(_generate_steps(projection, load_id))


def _generate_steps(projection: Projection, load_id: str) -> Iterable[SelectStep]:
    carried: list[str] = []
    has_no_raw = f"{_RAW} IS NULL" if projection.is_partial else None
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
            default_id = _unhashed_id(number) if projection.is_hashed else _child_id(level.table)
            row_id = _own_or(level.own_id, default_id)
            yield SelectStep((_PARENT, _INDEX, f"{row_id} AS {_ID}", _ROW, *carried))
        elif level.own_id is not None:
            yield SelectStep((f"{_own_or(level.own_id, _ID)} AS {_ID}", _ROW), has_no_raw)
            has_no_raw = None
        where = _all_of([has_no_raw, *(f"NOT {is_excluded(exclusion)}" for exclusion in level.refused)])
        has_no_raw = None
        if below:
            passed = [f"{_column_sql(column)} AS {quote_name(column.name)}" for column in level.passed]
            passed += [f"{_ID} AS {quote_name(name)}" for name in level.passes_id]
            if where or passed:
                new_names = [quote_name(name) for name in _passed_names(level)]
                carried = [name for name in carried if name not in new_names]
                yield SelectStep((_ID, _ROW, *carried, *passed), where)
                carried = [*carried, *new_names]
        else:
            yield from _final_steps(projection, where, load_id, carried)


def _passed_names(level: Level) -> tuple[str, ...]:
    return (*(column.name for column in level.passed), *level.passes_id)


def _final_steps(
    projection: Projection, where: str | None, load_id: str, carried: Sequence[str]
) -> Iterable[SelectStep]:
    """Generate the last steps: values that need work are extracted once, in a separate step."""
    value_columns: dict[tuple[str, StorageForm, ValueType], str] = {}
    for column in projection.columns:
        for value in column.values:
            if not _is_simple(value):
                key = (value.source_sql, value.stored, value.kind)
                value_columns.setdefault(key, f"`v{len(value_columns)}`")
    if value_columns:
        values = [f"{typed_value(*key)} AS {name}" for key, name in value_columns.items()]
        parents = [_PARENT, _INDEX] if len(projection.levels) > 1 else []
        yield SelectStep((_ID, *parents, _ROW, *carried, *values), where)
        where = None
    columns = {column.name: _column_sql(column, value_columns) for column in projection.columns}
    columns |= {name: f"CAST({quote_name(name)} AS {kind})" for name, kind in projection.inherited}
    if projection.is_root:
        columns["_dlt_load_id"] = _own_or(projection.own_load_id, literal(load_id))
    else:
        columns |= {"_dlt_parent_id": _PARENT, "_dlt_list_idx": f"CAST({_INDEX} AS BIGINT)"}
    columns["_dlt_id"] = _ID
    names = [*(name for name in projection.order if name in columns), *columns]
    yield SelectStep(tuple(f"{columns[name]} AS {quote_name(name)}" for name in dict.fromkeys(names)), where)


def root_columns(projection: Projection) -> dict[str, str]:
    """Return SQL for the columns of a root table, as functions of the nested row."""
    return {column.name: _column_sql(column) for column in projection.columns}


def level_elements(level: Level) -> str:
    """Return SQL for the list whose elements are the rows of a level."""
    lists = [list_elements(at, stored) for at, stored in level.lists]
    return lists[0] if len(lists) == 1 else f"coalesce({', '.join(lists)})"


def list_elements(value_path: FieldAccess, stored: StorageForm | None, *, row: str = "row") -> str:
    """Return SQL for a list; `stored` is None for an array."""
    if stored is None:
        return value_path.sql(row)
    return variant_value(quote_name(row, *value_path.path), value_path.inside, "array<variant>")


def _child_id(table: str) -> str:
    return id_digest(f"concat({_PARENT}, '_', {literal(table)}, '_', CAST({_INDEX} AS STRING))")


def _unhashed_id(number: int) -> str:
    return f"concat({_PARENT}, {literal(f'{ID_SEPARATOR}{number}{ID_SEPARATOR}')}, CAST({_INDEX} AS STRING))"


def _own_or(own: OutputColumn | None, default: str) -> str:
    return f"coalesce({_column_sql(own)}, {default})" if own else default


def _is_simple(value: ColumnValue) -> bool:
    """Return whether the value is stored in the type of its column."""
    stored = ("bool", "bigint", "double", "text", "typed")
    return value.stored in stored and value.to == value.kind and not value.unless


def _column_sql(
    column: OutputColumn, value_columns: Mapping[tuple[str, StorageForm, ValueType], str] | None = None
) -> str:
    values = [_value_sql(value, value_columns or {}) for value in column.values]
    value = "NULL" if not values else values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
    return f"CAST({value} AS {column.sql_type})"


def _value_sql(value: ColumnValue, value_columns: Mapping[tuple[str, StorageForm, ValueType], str]) -> str:
    if _is_simple(value):
        # Only documents have a shape.
        return f"to_json({value.source_sql}, {_WITH_NULLS})" if value.shape else value.source_sql
    key = (value.source_sql, value.stored, value.kind)
    source = value_columns.get(key) or typed_value(*key)
    converted = converted_value(source, value.kind, value.to)
    if not value.unless:
        return converted
    conditions = [f"{converted_value(source, value.kind, other)} IS NULL" for other in value.unless]
    return f"CASE WHEN {' AND '.join(conditions)} THEN {converted} END"


def is_excluded(exclusion: RowExclusion) -> str:
    """Return SQL for whether this value excludes its row."""
    value = typed_value(exclusion.at.sql(), exclusion.stored, exclusion.kind)
    conditions = [f"{converted_value(value, exclusion.kind, other)} IS NULL" for other in exclusion.unless]
    return f"({' AND '.join([f'{value} IS NOT NULL', *conditions])})"


def _all_of(conditions: Iterable[str | None]) -> str | None:
    return " AND ".join(condition for condition in conditions if condition) or None
