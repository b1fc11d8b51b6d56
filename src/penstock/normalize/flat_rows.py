"""Flat tables from JSON rows in plain Python, for small tables: a Spark job would cost more than their rows.

The tables equal those of the projections in SQL, with the same ids; tests compare both. Only keys in JSON
documents may be in another order. What it does not support it refuses as a whole: Spark does it then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

import orjson
import pyarrow as pa

from penstock.normalize.profile import decode_value
from penstock.package import tags
from penstock.package.dlt_ids import hash_digest
from penstock.package.layout import POSITION_COLUMN
from penstock.package.projection.explode import digest_of
from penstock.package.projection.model import Projection
from penstock.package.sql import quote_name
from penstock.schema.convert import LARGEST_BIGINT, SMALLEST_BIGINT, convert_value
from penstock.schema.defaults import ID_COLUMN, LIST_INDEX_COLUMN, LOAD_ID_COLUMN, PARENT_ID_COLUMN
from penstock.schema.evidence import VALUE_KEY
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.observation import typed_value
from penstock.schema.system_columns import propagated_columns
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from penstock.normalize.plan import TablePlan
    from penstock.schema import Decision
    from penstock.schema.decision import Rule
    from penstock.schema.observation import ObservedType
    from penstock.schema.types import DataType
    from penstock.schema.value_path import PathStep, ValuePath

FLAT: Final = Projection(levels=())
"""The projection of files that have the columns of their table already."""
_COLUMN_ACTIONS: Final = frozenset(("keep", "convert", "json"))
_DESCENDING_ACTIONS: Final = frozenset(("flatten", "rows", "nothing", "exclude"))
_PLAIN_ACTIONS: Final = _COLUMN_ACTIONS | _DESCENDING_ACTIONS
_ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "STRING": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "DECIMAL(38,9)": pa.decimal128(38, 9),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
}
_TAGGED_TEXT_IN_JSON: Final = re.compile(rf'(?<!\\)"[{tags.FIRST}-{tags.LAST}]')


class NeedsSpark(Exception):
    """Raised where these rows cannot be flattened here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatColumn:
    """A column of a flat table."""

    name: str
    sql_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatInput:
    """The JSON text of a root row, with its id and its position in the package."""

    row_id: str
    text: bytes
    position: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTable:
    """The rows of one table."""

    columns: tuple[FlatColumn, ...]
    rows: pa.Table

    @property
    def column_types(self) -> dict[str, str]:
        """The types of the columns in Spark SQL, by name."""
        return {column.name: column.sql_type for column in self.columns}

    @property
    def ddl(self) -> str:
        """The columns as Spark SQL."""
        return ", ".join(f"{quote_name(column.name)} {column.sql_type}" for column in self.columns)


def flat_tables(
    decision: Decision, plans: Sequence[TablePlan], rows: Iterable[FlatInput], *, load_id: str
) -> dict[str, FlatTable]:
    """Return the rows of each planned table; raise `NeedsSpark` for what only Spark writes.

    Tables that are merged have the column `POSITION_COLUMN` besides.
    """
    if decision.refusals:
        raise NeedsSpark
    flattener = _Flattener(decision, plans, load_id)
    try:
        for given in rows:
            row = orjson.loads(given.text)
            flattener.add_root(row if type(row) is dict else {VALUE_KEY: row}, given)
        return flattener.tables()
    except (RecursionError, ValueError, OverflowError, orjson.JSONEncodeError, pa.ArrowInvalid) as error:
        raise NeedsSpark from error


def row_position_id(load_id: str, *, file: str, position: int) -> str:
    """Return the id that `position_id` computes in SQL.

    >>> row_position_id("1700000000.1", file="data/extracted/a/part-0.parquet", position=0)
    '5CUNZCSKWNf5Qg'
    """
    return digest_of(f"{load_id}/{file}/{position}")


# --- the rules, as a tree of paths


@dataclass(slots=True)
class _RuleNode:
    """A path: the column writers and rule of each type of value, and the paths below."""

    path: ValuePath
    table: _TableRows | None
    """The table of the rows at this path."""
    actions: dict[ObservedType, str] = field(default_factory=dict)
    writers: dict[ObservedType, tuple[_ColumnWriter, ...]] = field(default_factory=dict)
    children: dict[PathStep, _RuleNode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ColumnWriter:
    """Converts values of one type for a column."""

    column: str | None
    """None for a column that penstock fills itself: the value is left out."""
    convert: Callable[[Any], Any] | None
    """None leaves values as they are."""


@dataclass(slots=True, kw_only=True)
class _TableRows:
    """A table under construction."""

    name: str
    columns: tuple[FlatColumn, ...]
    data_columns: frozenset[str]
    """The columns with values from the data."""
    inherited: frozenset[str]
    propagated: tuple[tuple[str, str], ...]
    """Columns that rows pass down, and their names there."""
    is_root: bool
    rows: list[dict[str, Any]] = field(default_factory=list)


class _Flattener:
    def __init__(self, decision: Decision, plans: Sequence[TablePlan], load_id: str) -> None:
        self._decision, self._load_id = decision, load_id
        self._is_hashed = decision.row_id_type != "position"
        self._is_merged = decision.schema.tables[decision.tables[()]].write_disposition == "merge"
        self._position: str | None = None
        self._tables = {plan.table.name: _table_rows(decision, plan) for plan in plans}
        self._root = _RuleNode((), self._tables[decision.tables[()]])
        for (path, kind), rule in decision.rules.items():
            self._add_rule(path, kind, rule)

    def _child(self, node: _RuleNode, step: PathStep) -> _RuleNode:
        child = node.children.get(step)
        if child is None:
            path = (*node.path, step)
            row = canonical_row_and_keys(path, is_list=False)[0] if step == EACH else None
            table = None if row is None else self._tables.get(self._decision.tables.get(row, ""))
            child = node.children[step] = _RuleNode(path, table)
        return child

    def _add_rule(self, path: ValuePath, kind: ObservedType, rule: Rule) -> None:
        node = self._root
        for step in path:
            node = self._child(node, step)
        if rule.action not in _PLAIN_ACTIONS:
            raise NeedsSpark
        node.actions[kind] = rule.action
        if rule.action in _COLUMN_ACTIONS:
            table = self._tables.get(rule.table)
            node.writers[kind] = tuple(_writers(rule, kind, table.data_columns if table else frozenset()))

    def add_root(self, row: dict[str, Any], given: FlatInput) -> None:
        """Add a root row with its nested rows."""
        self._position = given.position if self._is_merged else None
        self._add_row(self._root, row, given.row_id, parent_id=None, index=0, inherited={})

    def tables(self) -> dict[str, FlatTable]:
        """Return the tables, parents before children."""
        return {
            name: FlatTable(columns=table.columns, rows=_arrow_table(table, has_position=self._is_merged))
            for name, table in self._tables.items()
        }

    def _add_row(
        self,
        node: _RuleNode,
        value: Any,
        row_id: str,
        *,
        parent_id: str | None,
        index: int,
        inherited: Mapping[str, Any],
    ) -> None:
        table = node.table
        if table is None:
            return
        row: dict[str, Any] = {}
        lists: list[tuple[_RuleNode, list[Any]]] = []
        self._take(node, value, row, lists)
        if self._is_hashed and row.get(ID_COLUMN):
            raise NeedsSpark  # an id in the data
        row_id = row.get(ID_COLUMN) or row_id
        row[ID_COLUMN] = row_id
        if self._position is not None:
            row[POSITION_COLUMN] = self._position
        for name in table.inherited:
            row[name] = inherited.get(name)
        if table.is_root:
            row[LOAD_ID_COLUMN] = row.get(LOAD_ID_COLUMN) or self._load_id
        else:
            row[PARENT_ID_COLUMN], row[LIST_INDEX_COLUMN] = parent_id, index
        table.rows.append(row)
        if not lists:
            return
        passed = {**inherited, **{name: row.get(source) for source, name in table.propagated}}
        for list_node, elements in lists:
            each = self._child(list_node, EACH)
            if each.table is None:
                continue
            prefix = f"{row_id}_{each.table.name}_"
            for position, element in enumerate(elements):
                self._add_row(
                    each,
                    element,
                    hash_digest(f"{prefix}{position}")
                    if self._is_hashed
                    else digest_of(f"{prefix}{position}"),
                    parent_id=row_id,
                    index=position,
                    inherited=passed,
                )

    def _take(
        self, node: _RuleNode, value: Any, row: dict[str, Any], lists: list[tuple[_RuleNode, list[Any]]]
    ) -> None:
        """Write the columns of a value and of the values in its objects, and collect its lists."""
        kind, plain = _observed(value)
        for writer in node.writers.get(kind, ()):
            try:
                column_value = plain if writer.convert is None else writer.convert(plain)
            except (ValueError, OverflowError):
                continue
            if column_value is not None and writer.column is not None:
                row[writer.column] = column_value
            break
        else:
            if node.writers.get(kind):
                raise NeedsSpark  # no column takes the value: Spark puts its row aside
        if kind == "object" and node.actions.get(kind, "flatten") in _DESCENDING_ACTIONS:
            for key, inner in value.items():
                if inner is not None and (child := node.children.get(key)) is not None:
                    self._take(child, inner, row, lists)
        elif kind == "list" and node.actions.get(kind, "rows") in _DESCENDING_ACTIONS:
            lists.append((node, value))


def _observed(value: Any) -> tuple[ObservedType, Any]:
    """Return the type of a JSON value, and the value in the representation of that type."""
    kind = type(value)
    if kind is str:
        if value[:1] not in tags.ALL or not value:
            return "text", value
    elif kind is int:
        if SMALLEST_BIGINT <= value <= LARGEST_BIGINT:
            return "bigint", value
    elif kind is dict:
        return "object", value
    elif kind is list:
        return "list", value
    elif value is None:
        return "null", None
    return typed_value(decode_value(value)[1])


def _writers(rule: Rule, kind: ObservedType, columns: frozenset[str]) -> Iterator[_ColumnWriter]:
    """Yield the writers of a rule and of its fallbacks; `columns` take values from the data."""
    following: Rule | None = rule
    while following is not None:
        if following.action not in _COLUMN_ACTIONS or following.column is None or following.data_type is None:
            raise NeedsSpark
        column = following.column if following.column in columns else None
        yield _ColumnWriter(column, _converter(kind, following.data_type))
        following = following.otherwise


def _converter(kind: ObservedType, to: DataType) -> Callable[[Any], Any] | None:
    if kind in ("object", "list"):
        if to not in ("json", "text"):
            raise NeedsSpark
        return _json_text
    if kind == "time" and to in ("time", "text"):
        return _isoformat
    if kind == to:
        return None
    data_type = cast("DataType", kind)  # objects, lists and nulls have no value to convert
    if to == "json":
        # The text itself, unless it is the JSON document null; raises `ValueError` if it is no document.
        return lambda value: value if convert_value(value, data_type, "json") is not None else None
    if to == "time":
        return lambda value: _isoformat(convert_value(value, data_type, "time"))
    return lambda value: convert_value(value, data_type, to)


def _json_text(value: Any) -> str:
    """Return an object or a list as JSON without type tags."""
    text = orjson.dumps(value).decode()
    return _TAGGED_TEXT_IN_JSON.sub('"', text)


def _isoformat(value: Any) -> str:
    return str(value.isoformat())


# --- the columns


def _table_rows(decision: Decision, plan: TablePlan) -> _TableRows:
    projection, table = plan.projection, plan.table
    types = {column.name: column.sql_type for column in projection.columns}
    types |= dict(projection.inherited)
    types |= dict.fromkeys(
        (LOAD_ID_COLUMN,) if projection.is_root else (PARENT_ID_COLUMN, LIST_INDEX_COLUMN), "STRING"
    )
    if not projection.is_root:
        types[LIST_INDEX_COLUMN] = "BIGINT"
    types[ID_COLUMN] = "STRING"
    if not _ARROW_TYPES.keys() >= set(types.values()):
        raise NeedsSpark
    names = dict.fromkeys((*(name for name in projection.order if name in types), *types))
    passed = propagated_columns(decision.schema, table.name, is_root=not table.is_nested)
    return _TableRows(
        name=table.name,
        columns=tuple(FlatColumn(name=name, sql_type=types[name]) for name in names),
        data_columns=frozenset(
            (
                *(column.name for column in projection.columns),
                *((LOAD_ID_COLUMN,) if projection.own_load_id else ()),
                ID_COLUMN,
            )
        ),
        inherited=frozenset(name for name, _ in projection.inherited),
        propagated=tuple(
            (source, name) for source, name in passed.items() if source == ID_COLUMN or source in types
        ),
        is_root=projection.is_root,
    )


def _arrow_table(table: _TableRows, *, has_position: bool) -> pa.Table:
    types = {column.name: _ARROW_TYPES[column.sql_type] for column in table.columns}
    types |= {POSITION_COLUMN: pa.string()} if has_position else {}
    arrays = [_arrow_array([row.get(name) for row in table.rows], kind) for name, kind in types.items()]
    return pa.table(arrays, names=list(types))


def _arrow_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        values = [_in_utc(value) if isinstance(value, datetime) else value for value in values]
    return pa.array(values, kind)


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
