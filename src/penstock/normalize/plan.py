"""Plans that carry a decision out: one projection for each table, from the nested dataset to its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from penstock.normalize.nested_layout import Leaf, ListOf, Object, build_layout, raw_key_sql_type
from penstock.package.projection.convert import is_always_convertible
from penstock.package.projection.model import (
    ColumnValue,
    FieldAccess,
    Level,
    OutputColumn,
    Projection,
    RowExclusion,
)
from penstock.package.projection.typed_values import typed_value
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.schema import spark_type
from penstock.schema.defaults import (
    ID_COLUMN,
    LIST_INDEX_COLUMN,
    LOAD_ID_COLUMN,
    PARENT_ID_COLUMN,
)
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.spark_types import NESTED_TYPE_HINT
from penstock.schema.system_columns import propagated_columns
from penstock.schema.value_path import EACH, split_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.profile import JsonForm, RowProfile
    from penstock.package.projection.typed_values import StorageForm, ValueType
    from penstock.schema import Column, Table
    from penstock.schema.decision import Decision, Rule
    from penstock.schema.observation import ObservedType
    from penstock.schema.types import DataType
    from penstock.schema.value_path import ValuePath

_DESCENDING_ACTIONS: Final = frozenset(("flatten", "rows", "nothing", "exclude"))
_COLUMN_ACTIONS: Final = frozenset(("keep", "convert", "json"))
_NUMERIC_TYPES: Final = frozenset(("double", "decimal", "wei", "bigint", "bool", "timestamp"))
_SIZED_TYPES: Final = frozenset(("bigint", "decimal", "wei"))
_SYSTEM_COLUMNS: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN))


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One table of the package: its schema after this load, and the projection of its rows."""

    table: Table
    projection: Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainValue:
    """Values that must be checked one by one, because none of their columns takes all of them."""

    lists: tuple[tuple[tuple[FieldAccess, StorageForm | None], ...], ...]
    """The lists on the path to the row that holds the value, level by level."""
    access: FieldAccess
    storage_form: StorageForm
    kind: ValueType
    target_types: tuple[DataType, ...]
    narrower_types: tuple[str | None, ...] = ()
    """For each target type the SQL type of its column, if it is declared smaller than the default."""


def uncertain_values(decision: Decision, layout: NestedLayout) -> list[UncertainValue]:
    """Return the values that every one of their columns may refuse."""
    planner = Planner(decision, layout)
    return [
        uncertain
        for row in decision.tables
        if planner.has_rows(row)
        for uncertain in planner.uncertain_values(row)
    ]


def strict_fractions(decision: Decision) -> frozenset[ValuePath]:
    """Return the paths at which `5.0` and `5` become different values, such as texts."""
    return frozenset(
        path
        for (path, kind), rule in decision.rules.items()
        if kind == "double"
        and any(fallback.data_type not in _NUMERIC_TYPES for fallback in _fallback_chain(rule))
    )


def is_kept_as_json(decision: Decision, path: ValuePath, form: JsonForm) -> bool:
    """Return whether an object or list at this path is stored as JSON, because no column reads inside it."""
    rule = decision.rules.get((path, cast("ObservedType", form)))
    return rule is not None and rule.action not in _DESCENDING_ACTIONS


def plan_layout(decision: Decision, profile: RowProfile) -> NestedLayout:
    """Return the layout of a nested dataset for rows of this profile."""
    return build_layout(profile.forms, partial(is_kept_as_json, decision), strict_fractions(decision))


def plan_tables(decision: Decision, layout: NestedLayout, *, is_partial: bool = False) -> list[TablePlan]:
    """Return a plan for each table that gets rows, parents before children."""
    planner = Planner(decision, layout)
    tables = decision.schema.tables
    is_hashed = decision.row_id_type != "position"
    return [
        TablePlan(
            table=tables[name],
            projection=replace(planner.projection(row), is_partial=is_partial, is_hashed=is_hashed),
        )
        for row, name in decision.tables.items()
        if planner.has_rows(row)
    ]


@dataclass(frozen=True, slots=True)
class DecidedValue:
    """Values of one type at one path, with the rules that were decided for them."""

    path: ValuePath
    access: FieldAccess
    storage_form: StorageForm
    shape: str | None
    kind: ObservedType
    rules: tuple[Rule, ...]


class Planner:
    """A decision, grouped by the rows that its values are in."""

    def __init__(self, decision: Decision, layout: NestedLayout) -> None:
        self.decision, self.layout = decision, layout
        self.values: dict[ValuePath, dict[tuple[FieldAccess, ObservedType], DecidedValue]] = {
            row: {} for row in decision.tables
        }
        self.lists: dict[ValuePath, dict[tuple[FieldAccess, StorageForm | None], None]] = {
            row: {} for row in decision.tables
        }
        for (path, kind), rule in decision.rules.items():
            self._add_rule(path, kind, rule)

    def has_rows(self, row: ValuePath) -> bool:
        """Return whether the nested dataset has rows of this table."""
        return not row or bool(self.lists[row])

    def _add_rule(self, path: ValuePath, kind: ObservedType, rule: Rule) -> None:
        row, keys = canonical_row_and_keys(path, is_list=kind == "list")
        if row not in self.values:
            return
        try:
            node, access = self.layout.resolve(path)
        except KeyError:
            return
        if rule.action == "rows":
            elements = (*row, *keys, EACH)
            if kind == "list" and (isinstance(node, ListOf) or _is_mixed(node)) and elements in self.lists:
                self.lists[elements][access, "mixed" if _is_mixed(node) else None] = None
        elif rule.action not in _DESCENDING_ACTIONS or kind == "null":
            chain = tuple(_fallback_chain(rule))
            value = self.values[row].get((access, kind))
            if value is not None:
                chain = tuple(dict.fromkeys((*value.rules, *chain)))
            stored, shape = _storage_form(node, kind)
            if kind == "null" or typed_value("x", stored, kind) != "NULL":
                self.values[row][access, kind] = DecidedValue(path, access, stored, shape, kind, chain)

    def projection(self, row: ValuePath) -> Projection:
        """Return the projection to the rows of one table."""
        tables = self.decision.schema.tables
        lineage = list(_row_lineage(row))
        table = tables[self.decision.tables[row]]
        inherited = self._inherited_columns(lineage)
        values = self._output_columns(row, table)
        outputs = [
            column
            for column in values
            if column.name not in _SYSTEM_COLUMNS
            and column.name not in inherited
            and column.name != ID_COLUMN
        ]
        return Projection(
            levels=tuple(self._level(level_row, is_last=level_row == row) for level_row in lineage),
            columns=tuple(outputs),
            inherited=tuple((name, spark_type(table.columns[name])) for name in inherited),
            own_load_id=next(
                (
                    column
                    for column in values
                    if column.name == LOAD_ID_COLUMN and table.name == QUARANTINE_TABLE
                ),
                None,
            ),
            is_root=not table.is_nested,
            order=tuple(table.columns),
        )

    def _level(self, row: ValuePath, *, is_last: bool) -> Level:
        name = self.decision.tables[row]
        table = self.decision.schema.tables[name]
        outputs = {column.name: column for column in self._output_columns(row, table)}
        propagated = {} if is_last else dict(self._propagated_columns(row))
        return Level(
            table=name,
            lists=tuple(self.lists[row]),
            own_id=outputs.get(ID_COLUMN),
            passed=tuple(
                replace(outputs[source], name=to)
                for source, to in propagated.items()
                if source != ID_COLUMN and source in outputs
            ),
            passes_id=tuple(to for source, to in propagated.items() if source == ID_COLUMN),
            refused=tuple(self._row_refusals(row)),
        )

    def _propagated_columns(self, row: ValuePath) -> Mapping[str, str]:
        name = self.decision.tables[row]
        is_root = not self.decision.schema.tables[name].is_nested
        return propagated_columns(self.decision.schema, name, is_root=is_root)

    def _inherited_columns(self, row_paths: list[ValuePath]) -> tuple[str, ...]:
        """Return the names of columns that the last of these rows gets from the rows above it."""
        inherited: dict[str, None] = {}
        columns = self.decision.schema.tables[self.decision.tables[row_paths[-1]]].columns
        for parent in row_paths[:-1]:
            table = self.decision.schema.tables[self.decision.tables[parent]]
            outputs = {column.name for column in self._output_columns(parent, table)}
            for source, name in self._propagated_columns(parent).items():
                if name in columns and (
                    source == ID_COLUMN or (source in table.columns and source in outputs)
                ):
                    inherited[name] = None
        return tuple(inherited)

    def _output_columns(self, row: ValuePath, table: Table) -> list[OutputColumn]:
        """Return the columns that get values, in the order of the table."""
        values: dict[str, list[ColumnValue]] = {}
        nested_types: dict[str, str] = {}
        for value in self.values[row].values():
            tried: list[DataType] = []
            for rule in value.rules:
                if rule.action not in _COLUMN_ACTIONS or rule.column is None or rule.data_type is None:
                    continue
                shape = value.shape
                if shape is not None and NESTED_TYPE_HINT in table.columns[rule.column].hints:
                    # In the type of the files: the destination adds missing fields of the column by name.
                    nested_types[rule.column], shape = shape, None
                values.setdefault(rule.column, []).append(
                    ColumnValue(
                        at=value.access,
                        stored=value.storage_form,
                        kind=cast("ValueType", value.kind),
                        to=rule.data_type,
                        unless=tuple(tried),
                        shape=shape,
                    )
                )
                tried.append(rule.data_type)
        order = {name: number for number, name in enumerate(table.columns)}
        return [
            OutputColumn(
                name=name,
                sql_type=nested_types.get(name) or spark_type(table.columns[name]),
                values=tuple(column_values),
            )
            for name, column_values in sorted(values.items(), key=lambda item: order[item[0]])
        ]

    def uncertain_values(self, row: ValuePath) -> Iterator[UncertainValue]:
        """Yield the values in these rows that every one of their columns may refuse."""
        for value in self.values[row].values():
            if value.kind == "null":
                continue
            uncertain = self.uncertain_value(row, value)
            is_settled = len(uncertain.target_types) < len(value.rules)
            takes_all = any(
                is_always_convertible(uncertain.kind, to) and narrow is None
                for to, narrow in zip(uncertain.target_types, uncertain.narrower_types, strict=True)
            )
            if uncertain.target_types and not is_settled and not takes_all:
                yield uncertain

    def uncertain_value(self, row: ValuePath, value: DecidedValue) -> UncertainValue:
        """Return the access to such values and the types that they may become."""
        rules = [rule for rule in value.rules if rule.action in _COLUMN_ACTIONS and rule.data_type]
        columns = self.decision.schema.tables[self.decision.tables[row]].columns
        return UncertainValue(
            lists=tuple(tuple(self.lists[parent]) for parent in _row_lineage(row) if parent),
            access=value.access,
            storage_form=value.storage_form,
            kind=cast("ValueType", value.kind),
            target_types=tuple(rule.data_type for rule in rules if rule.data_type),
            narrower_types=tuple(_narrower_type(columns.get(rule.column or "")) for rule in rules),
        )

    def _row_refusals(self, row: ValuePath) -> Iterator[RowExclusion]:
        for value in self.values[row].values():
            yield from self.value_refusals(value)

    def value_refusals(self, value: DecidedValue) -> Iterator[RowExclusion]:
        """Yield the exclusion of rows with such a value, if the contract refuses them."""
        if value.kind != "null" and any(rule.action == "discard_row" for rule in value.rules):
            yield RowExclusion(
                at=value.access,
                stored=value.storage_form,
                kind=value.kind,
                unless=tuple(
                    rule.data_type
                    for rule in value.rules
                    if rule.action in _COLUMN_ACTIONS and rule.data_type
                ),
            )


def _storage_form(node: LayoutNode, kind: ObservedType) -> tuple[StorageForm, str | None]:
    """Return the storage form of a value, and its SQL type if it is stored as a struct and read as JSON."""
    if isinstance(node, Leaf):
        is_document = node.storage_form == "typed" and kind == "json" and node.sql != "STRING"
        return node.storage_form, node.sql if is_document else None
    is_struct = isinstance(node, Object) == (kind == "object") and kind in ("object", "list")
    return ("struct", raw_key_sql_type(node)) if is_struct else ("json", None)


def _narrower_type(column: Column | None) -> str | None:
    """Return the SQL type of a column that is declared smaller than the default of its type."""
    if column is None or column.data_type not in _SIZED_TYPES:
        return None
    sql_type = spark_type(column)
    return None if sql_type == spark_type(replace(column, precision=None, scale=None)) else sql_type


def _fallback_chain(rule: Rule | None) -> Iterator[Rule]:
    while rule is not None:
        yield replace(rule, otherwise=None)
        rule = rule.otherwise


def _row_lineage(row: ValuePath) -> Iterator[ValuePath]:
    """Yield the rows above a row, root first, and the row itself."""
    if row:
        parent, _ = split_row(row[:-1])
        yield from _row_lineage(parent)
    yield row


def _is_mixed(node: LayoutNode) -> bool:
    return isinstance(node, Leaf) and node.storage_form == "mixed"


__all__ = [
    "DecidedValue",
    "Planner",
    "TablePlan",
    "UncertainValue",
    "is_kept_as_json",
    "plan_layout",
    "plan_tables",
    "strict_fractions",
    "uncertain_values",
]
