"""A table as a projection of a nested dataset: plain data, compiled to SQL text.

The nested dataset of a root table has the columns `id`, the row's id, `row`, the struct of its values as they
were seen, and `raw`, the text of rows that this part of the dataset does not stand for. A table is reached by
stepping into lists. Because the projection is data, it can be stored in a job file and read by anybody.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.package.conversions import converted
from penstock.package.picking import Picked, Stored, picked
from penstock.package.shake import BREAK
from penstock.package.sql import inside_variant, literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema import DataType

_WITH_NULLS: Final = "map('ignoreNullFields', 'false')"
_EMPTY: Final = ((), None, False)
_ID, _PARENT, _INDEX, _ROW, _RAW = "`id`", "`parent`", "`idx`", "`row`", "`raw`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where a value stands below a row: names of struct fields, then keys inside a VARIANT."""

    path: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()

    def sql(self, row: str = "row") -> str:
        """The value as it is stored."""
        return self.sql_of(quoted(row, *self.path))

    def sql_of(self, value: str) -> str:
        """What stands inside a VARIANT, or the value itself."""
        return inside_variant(value, self.inside, "variant") if self.inside else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Values of one type at one place, and the type of the column that takes them."""

    at: Access
    stored: Stored
    kind: Picked
    to: DataType
    unless: tuple[DataType, ...] = ()
    """Types that are tried before: what fits one of them goes into another column."""
    shape: str | None = None
    """For what is taken whole out of structs: their type under the keys that JSON shall have."""

    @property
    def source(self) -> str:
        """The value as it is stored."""
        return f"CAST({self.at.sql()} AS {self.shape})" if self.shape else self.at.sql()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column of the table and the values that go into it; no two of them stand in one row."""

    name: str
    sql_type: str
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Values with which their row is left out."""

    at: Access
    stored: Stored
    kind: Picked
    unless: tuple[DataType, ...] = ()
    """Types that are tried before: a row whose value fits one of them stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The rows of one table on the way from the root: what they are made of, and what they pass down.

    The root level has no lists. `lists` are the places below the row above whose elements are the rows; where
    there are several, each row above has one of them at most, and all hold VARIANTs.
    """

    table: str
    lists: tuple[tuple[Access, Stored | None], ...] = ()
    own_id: OutputColumn | None = None
    """The column of ids that come with the data."""
    passed: tuple[OutputColumn, ...] = ()
    """Columns that rows below get a copy of, by the names they have there."""
    passes_id: tuple[str, ...] = ()
    """The names under which rows below get the id of this row."""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The way from a nested dataset to one table."""

    levels: tuple[Level, ...]
    columns: tuple[OutputColumn, ...] = ()
    inherited: tuple[tuple[str, str], ...] = ()
    """Columns that come down from rows above, each with its type."""
    is_partial: bool = False
    """Whether rows with a raw text stand in another part of the dataset."""
    is_root: bool = True
    """Whether rows say which load they came with, and not which row they belong to."""
    is_hashed: bool = False
    """Whether nested rows have ids as dlt makes them; the steps leave those to be worked out, see `shake`."""
    order: tuple[str, ...] = ()
    """The order of the table's columns; the load gives new columns to a table in this order."""

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The columns of ids that the steps leave unfinished."""
        if not self.is_hashed or len(self.levels) == 1:
            return ()
        passed = {name for level in self.levels[1:] for name in level.passes_id}
        own = ("_dlt_id",) if self.is_root else ("_dlt_parent_id", "_dlt_id")
        return (*(name for name, _ in self.inherited if name in passed), *own)

    def selects(self, *, load_id: str) -> list[Select]:
        """The steps to apply one after another to the nested dataset."""
        return list(_steps(self, load_id))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return {key: _without_empty(one) for key, one in asdict(self).items() if one not in _EMPTY}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Projection:
        """Read what `to_dict` gave."""
        return Projection(
            levels=tuple(_level(level) for level in document["levels"]),
            columns=_columns(document.get("columns", ())),
            inherited=tuple((name, kind) for name, kind in document.get("inherited", ())),
            is_partial=bool(document.get("is_partial", False)),
            is_root=bool(document.get("is_root", False)),
            is_hashed=bool(document.get("is_hashed", False)),
            order=tuple(document.get("order", ())),
        )


@dataclass(frozen=True, slots=True)
class Select:
    """One step: a filter, then a select list."""

    columns: tuple[str, ...]
    where: str | None = None


def digest(text: str) -> str:
    """SQL for an id of 80 bits over a text expression, in the 14 characters of dlt's ids."""
    return f"left(base64(substring(unhex(sha2({text}, 256)), 1, 10)), 14)"


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


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(one) for key, one in value.items() if one not in _EMPTY}
    if isinstance(value, tuple | list):
        return [_without_empty(one) for one in value]
    return value


def _access(document: Mapping[str, Any]) -> Access:
    return Access(path=tuple(document.get("path", ())), inside=tuple(document.get("inside", ())))


def _columns(documents: Iterable[Mapping[str, Any]]) -> tuple[OutputColumn, ...]:
    return tuple(_output(document) for document in documents)


def _output(document: Mapping[str, Any]) -> OutputColumn:
    values = tuple(
        Value(**{**value, "at": _access(value.get("at", {})), "unless": tuple(value.get("unless", ()))})
        for value in document.get("values", ())
    )
    return OutputColumn(name=document["name"], sql_type=document["sql_type"], values=values)


def _level(document: Mapping[str, Any]) -> Level:
    own_id = document.get("own_id")
    return Level(
        table=document["table"],
        lists=tuple((_access(at), stored) for at, stored in document.get("lists", ())),
        own_id=_output(own_id) if own_id else None,
        passed=_columns(document.get("passed", ())),
        passes_id=tuple(document.get("passes_id", ())),
        refused=tuple(
            Refusal(
                at=_access(one.get("at", {})),
                stored=one["stored"],
                kind=one["kind"],
                unless=tuple(one.get("unless", ())),
            )
            for one in document.get("refused", ())
        ),
    )


__all__ = [
    "Access",
    "Level",
    "OutputColumn",
    "Projection",
    "Refusal",
    "Select",
    "Value",
    "digest",
    "elements_at",
    "elements_of",
    "is_refused",
]
