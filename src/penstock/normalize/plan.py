"""Carries a decision out: the projection that brings the rows of each table out of the nested dataset."""

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
    """One table of the package: how it will look after this load and where its rows come from."""

    table: Table
    projection: Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainValue:
    """Values of which it takes a look at each to know whether a column takes it."""

    lists: tuple[tuple[tuple[FieldAccess, StorageForm | None], ...], ...]
    """The lists on the way to the row that holds the value."""
    access: FieldAccess
    storage_form: StorageForm
    kind: ValueType
    target_types: tuple[DataType, ...]
    narrower_types: tuple[str | None, ...] = ()
    """For each of these types the SQL type of its column, where that is declared smaller than usual."""


def uncertain_values(decision: Decision, layout: NestedLayout) -> list[UncertainValue]:
    """The values that every column may turn down, though the evidence says that one takes them."""
    planner = Planner(decision, layout)
    return [
        doubt for row in decision.tables if planner.has_rows(row) for doubt in planner.uncertain_values(row)
    ]


def strict_fractions(decision: Decision) -> frozenset[ValuePath]:
    """Where `5.0` would become something else than `5`, such as another text."""
    return frozenset(
        path
        for (path, kind), rule in decision.rules.items()
        if kind == "double" and any(one.data_type not in _NUMERIC_TYPES for one in _fallback_chain(rule))
    )


def is_kept_as_json(decision: Decision, path: ValuePath, form: JsonForm) -> bool:
    """Whether an object or list at this path is stored as JSON, because nothing in it is asked for."""
    rule = decision.rules.get((path, cast("ObservedType", form)))
    return rule is not None and rule.action not in _DESCENDING_ACTIONS


def plan_layout(decision: Decision, profile: RowProfile) -> NestedLayout:
    """Return the layout of a nested dataset for rows of this profile."""
    return build_layout(profile.forms, partial(is_kept_as_json, decision), strict_fractions(decision))


def plan_tables(decision: Decision, layout: NestedLayout, *, is_partial: bool = False) -> list[TablePlan]:
    """A plan for each table that gets rows, parents before children."""
    planner = Planner(decision, layout)
    tables = decision.schema.tables
    is_hashed = decision.row_id_type != "place"
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
    """Values of one type at one place, with all that was decided about them."""

    path: ValuePath
    access: FieldAccess
    storage_form: StorageForm
    shape: str | None
    kind: ObservedType
    rules: tuple[Rule, ...]


class Planner:
    """Sorts what was decided by the rows that it is about."""

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
        """Whether the nested dataset has rows of this table."""
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
            known = self.values[row].get((access, kind))
            if known is not None:
                chain = tuple(dict.fromkeys((*known.rules, *chain)))
            stored, shape = _storage_form(node, kind)
            if kind == "null" or typed_value("x", stored, kind) != "NULL":
                self.values[row][access, kind] = DecidedValue(path, access, stored, shape, kind, chain)

    def projection(self, row: ValuePath) -> Projection:
        """The way to the rows of one table."""
        tables = self.decision.schema.tables
        ways = list(_row_lineage(row))
        table = tables[self.decision.tables[row]]
        inherited = self._inherited_columns(ways)
        outputs = [
            one
            for one in self._output_columns(row, table)
            if one.name not in _SYSTEM_COLUMNS and one.name not in inherited and one.name != ID_COLUMN
        ]
        return Projection(
            levels=tuple(self._level(one, is_last=one == row) for one in ways),
            columns=tuple(outputs),
            inherited=tuple((name, spark_type(table.columns[name])) for name in inherited),
            is_root=not table.is_nested,
            order=tuple(table.columns),
        )

    def _level(self, row: ValuePath, *, is_last: bool) -> Level:
        name = self.decision.tables[row]
        table = self.decision.schema.tables[name]
        outputs = {one.name: one for one in self._output_columns(row, table)}
        down = {} if is_last else dict(self._propagated_columns(row))
        return Level(
            table=name,
            lists=tuple(self.lists[row]),
            own_id=outputs.get(ID_COLUMN),
            passed=tuple(
                replace(outputs[source], name=to)
                for source, to in down.items()
                if source != ID_COLUMN and source in outputs
            ),
            passes_id=tuple(to for source, to in down.items() if source == ID_COLUMN),
            refused=tuple(self._row_refusals(row)),
        )

    def _propagated_columns(self, row: ValuePath) -> Mapping[str, str]:
        name = self.decision.tables[row]
        is_root = not self.decision.schema.tables[name].is_nested
        return propagated_columns(self.decision.schema, name, is_root=is_root)

    def _inherited_columns(self, row_paths: list[ValuePath]) -> tuple[str, ...]:
        """The names of columns that come down to the last of these rows; the nearest row counts."""
        found: dict[str, None] = {}
        columns = self.decision.schema.tables[self.decision.tables[row_paths[-1]]].columns
        for above in row_paths[:-1]:
            known = self.decision.schema.tables[self.decision.tables[above]].columns
            outputs = {
                one.name
                for one in self._output_columns(
                    above, self.decision.schema.tables[self.decision.tables[above]]
                )
            }
            for source, name in self._propagated_columns(above).items():
                if name in columns and (source == ID_COLUMN or (source in known and source in outputs)):
                    found[name] = None
        return tuple(found)

    def _output_columns(self, row: ValuePath, table: Table) -> list[OutputColumn]:
        """The columns that get values, in the order of the table."""
        found: dict[str, list[ColumnValue]] = {}
        kept: dict[str, str] = {}
        for placed in self.values[row].values():
            tried: list[DataType] = []
            for rule in placed.rules:
                if rule.action not in _COLUMN_ACTIONS or rule.column is None or rule.data_type is None:
                    continue
                shape = placed.shape
                if shape is not None and NESTED_TYPE_HINT in table.columns[rule.column].hints:
                    # As it came: what the column has beyond that, the destination knows by name.
                    kept[rule.column], shape = shape, None
                found.setdefault(rule.column, []).append(
                    ColumnValue(
                        at=placed.access,
                        stored=placed.storage_form,
                        kind=cast("ValueType", placed.kind),
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
                sql_type=kept.get(name) or spark_type(table.columns[name]),
                values=tuple(values),
            )
            for name, values in sorted(found.items(), key=lambda item: order[item[0]])
        ]

    def uncertain_values(self, row: ValuePath) -> Iterator[UncertainValue]:
        """Values in these rows that every column may turn down."""
        for placed in self.values[row].values():
            if placed.kind == "null":
                continue
            doubt = self.uncertain_value(row, placed)
            is_settled = len(doubt.target_types) < len(placed.rules)
            takes_all = any(
                is_always_convertible(doubt.kind, to) and narrow is None
                for to, narrow in zip(doubt.target_types, doubt.narrower_types, strict=True)
            )
            if doubt.target_types and not is_settled and not takes_all:
                yield doubt

    def uncertain_value(self, row: ValuePath, value: DecidedValue) -> UncertainValue:
        """Where such values stand, and what they may become."""
        rules = [rule for rule in value.rules if rule.action in _COLUMN_ACTIONS and rule.data_type]
        columns = self.decision.schema.tables[self.decision.tables[row]].columns
        return UncertainValue(
            lists=tuple(tuple(self.lists[one]) for one in _row_lineage(row) if one),
            access=value.access,
            storage_form=value.storage_form,
            kind=cast("ValueType", value.kind),
            target_types=tuple(rule.data_type for rule in rules if rule.data_type),
            narrower_types=tuple(_narrower_type(columns.get(rule.column or "")) for rule in rules),
        )

    def _row_refusals(self, row: ValuePath) -> Iterator[RowExclusion]:
        for placed in self.values[row].values():
            yield from self.value_refusals(placed)

    def value_refusals(self, value: DecidedValue) -> Iterator[RowExclusion]:
        """With which of these values their row is left out, if with any."""
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
    """How a value is stored, and its type where it was taken apart and is wanted whole."""
    if isinstance(node, Leaf):
        is_document = node.storage_form == "typed" and kind == "json" and node.sql != "STRING"
        return node.storage_form, node.sql if is_document else None
    holds = isinstance(node, Object) == (kind == "object") and kind in ("object", "list")
    return ("struct", raw_key_sql_type(node)) if holds else ("json", None)


def _narrower_type(column: Column | None) -> str | None:
    """The SQL type of a column that holds less than others of its type."""
    if column is None or column.data_type not in _SIZED_TYPES:
        return None
    found = spark_type(column)
    return None if found == spark_type(replace(column, precision=None, scale=None)) else found


def _fallback_chain(rule: Rule | None) -> Iterator[Rule]:
    while rule is not None:
        yield replace(rule, otherwise=None)
        rule = rule.otherwise


def _row_lineage(row: ValuePath) -> Iterator[ValuePath]:
    """The rows on the way to a row, itself last."""
    if row:
        above, _ = split_row(row[:-1])
        yield from _row_lineage(above)
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
