"""Carries a decision out: the projection that brings the rows of each table out of the nested dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from penstock.normalize.stored import Leaf, ListOf, Object, keyed_type
from penstock.package.conversions import never_fails
from penstock.package.picking import picked
from penstock.package.projection import (
    Access,
    Level,
    OutputColumn,
    Projection,
    Refusal,
    Value,
)
from penstock.schema import spark_type
from penstock.schema.defaults import (
    ID_COLUMN,
    LIST_INDEX_COLUMN,
    LOAD_ID_COLUMN,
    PARENT_ID_COLUMN,
)
from penstock.schema.layout import canonical
from penstock.schema.path import EACH, split_row
from penstock.schema.rootkeys import propagated
from penstock.schema.sparktypes import NESTED_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.normalize.learn import Form
    from penstock.normalize.stored import Dataset, Node
    from penstock.package.picking import Picked, Stored
    from penstock.schema import Column, Table
    from penstock.schema.decision import Decision, Rule
    from penstock.schema.look import SeenType
    from penstock.schema.path import Path
    from penstock.schema.types import DataType

_ENTERED: Final = frozenset(("flatten", "rows", "nothing", "exclude"))
_PLACED: Final = frozenset(("keep", "convert", "json"))
_NUMERIC: Final = frozenset(("double", "decimal", "wei", "bigint", "bool", "timestamp"))
_SIZED: Final = frozenset(("bigint", "decimal", "wei"))
_SYSTEM: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN))


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One table of the package: how it will look after this load and where its rows come from."""

    table: Table
    projection: Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Values of which it takes a look at each to know whether a column takes it."""

    lists: tuple[tuple[tuple[Access, Stored | None], ...], ...]
    """The lists on the way to the row that holds the value."""
    access: Access
    stored: Stored
    kind: Picked
    to: tuple[DataType, ...]
    narrow: tuple[str | None, ...] = ()
    """For each of these types the SQL type of its column, where that is declared smaller than usual."""


def doubts(decision: Decision, dataset: Dataset) -> list[Doubt]:
    """The values that every column may turn down, though the evidence says that one takes them."""
    planner = Planner(decision, dataset)
    return [doubt for row in decision.tables if planner.has_rows(row) for doubt in planner.doubts(row)]


def strict_fractions(decision: Decision) -> frozenset[Path]:
    """Where `5.0` would become something else than `5`, such as another text."""
    return frozenset(
        path
        for (path, kind), rule in decision.rules.items()
        if kind == "double" and any(one.data_type not in _NUMERIC for one in _chain(rule))
    )


def keeps_whole(decision: Decision, path: Path, form: Form) -> bool:
    """Whether an object or list at this path is stored as JSON, because nothing in it is asked for."""
    rule = decision.rules.get((path, cast("SeenType", form)))
    return rule is not None and rule.action not in _ENTERED


def plan_tables(decision: Decision, dataset: Dataset, *, is_partial: bool = False) -> list[TablePlan]:
    """A plan for each table that gets rows, parents before children."""
    planner = Planner(decision, dataset)
    tables = decision.schema.tables
    is_hashed = decision.row_id != "place"
    return [
        TablePlan(
            table=tables[name],
            projection=replace(planner.projection(row), is_partial=is_partial, is_hashed=is_hashed),
        )
        for row, name in decision.tables.items()
        if planner.has_rows(row)
    ]


@dataclass(frozen=True, slots=True)
class Placed:
    """Values of one type at one place, with all that was decided about them."""

    path: Path
    access: Access
    stored: Stored
    shape: str | None
    kind: SeenType
    chain: tuple[Rule, ...]


class Planner:
    """Sorts what was decided by the rows that it is about."""

    def __init__(self, decision: Decision, dataset: Dataset) -> None:
        self.decision, self.dataset = decision, dataset
        self.values: dict[Path, dict[tuple[Access, SeenType], Placed]] = {row: {} for row in decision.tables}
        self.lists: dict[Path, dict[tuple[Access, Stored | None], None]] = {
            row: {} for row in decision.tables
        }
        for (path, kind), rule in decision.rules.items():
            self._file(path, kind, rule)

    def has_rows(self, row: Path) -> bool:
        """Whether the nested dataset has rows of this table."""
        return not row or bool(self.lists[row])

    def _file(self, path: Path, kind: SeenType, rule: Rule) -> None:
        row, keys = canonical(path, is_list=kind == "list")
        if row not in self.values:
            return
        try:
            node, access = self.dataset.reach(path)
        except KeyError:
            return
        if rule.action == "rows":
            elements = (*row, *keys, EACH)
            if kind == "list" and (isinstance(node, ListOf) or _is_mixed(node)) and elements in self.lists:
                self.lists[elements][access, "mixed" if _is_mixed(node) else None] = None
        elif rule.action not in _ENTERED or kind == "null":
            chain = tuple(_chain(rule))
            known = self.values[row].get((access, kind))
            if known is not None:
                chain = tuple(dict.fromkeys((*known.chain, *chain)))
            stored, shape = _stored(node, kind)
            if kind == "null" or picked("x", stored, kind) != "NULL":
                self.values[row][access, kind] = Placed(path, access, stored, shape, kind, chain)

    def projection(self, row: Path) -> Projection:
        """The way to the rows of one table."""
        tables = self.decision.schema.tables
        ways = list(_ways(row))
        table = tables[self.decision.tables[row]]
        inherited = self._inherited(ways)
        outputs = [
            one
            for one in self._outputs(row, table)
            if one.name not in _SYSTEM and one.name not in inherited and one.name != ID_COLUMN
        ]
        return Projection(
            levels=tuple(self._level(one, is_last=one == row) for one in ways),
            columns=tuple(outputs),
            inherited=tuple((name, spark_type(table.columns[name])) for name in inherited),
            is_root=not table.is_nested,
            order=tuple(table.columns),
        )

    def _level(self, row: Path, *, is_last: bool) -> Level:
        name = self.decision.tables[row]
        table = self.decision.schema.tables[name]
        outputs = {one.name: one for one in self._outputs(row, table)}
        down = {} if is_last else dict(self._passed(row))
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
            refused=tuple(self._refused(row)),
        )

    def _passed(self, row: Path) -> Mapping[str, str]:
        name = self.decision.tables[row]
        is_root = not self.decision.schema.tables[name].is_nested
        return propagated(self.decision.schema, name, is_root=is_root)

    def _inherited(self, ways: list[Path]) -> tuple[str, ...]:
        """The names of columns that come down to the last of these rows; the nearest row counts."""
        found: dict[str, None] = {}
        columns = self.decision.schema.tables[self.decision.tables[ways[-1]]].columns
        for above in ways[:-1]:
            known = self.decision.schema.tables[self.decision.tables[above]].columns
            outputs = {
                one.name
                for one in self._outputs(above, self.decision.schema.tables[self.decision.tables[above]])
            }
            for source, name in self._passed(above).items():
                if name in columns and (source == ID_COLUMN or (source in known and source in outputs)):
                    found[name] = None
        return tuple(found)

    def _outputs(self, row: Path, table: Table) -> list[OutputColumn]:
        """The columns that get values, in the order of the table."""
        found: dict[str, list[Value]] = {}
        kept: dict[str, str] = {}
        for placed in self.values[row].values():
            tried: list[DataType] = []
            for rule in placed.chain:
                if rule.action not in _PLACED or rule.column is None or rule.data_type is None:
                    continue
                shape = placed.shape
                if shape is not None and NESTED_TYPE in table.columns[rule.column].hints:
                    # As it came: what the column has beyond that, the destination knows by name.
                    kept[rule.column], shape = shape, None
                found.setdefault(rule.column, []).append(
                    Value(
                        at=placed.access,
                        stored=placed.stored,
                        kind=cast("Picked", placed.kind),
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

    def doubts(self, row: Path) -> Iterator[Doubt]:
        """Values in these rows that every column may turn down."""
        for placed in self.values[row].values():
            if placed.kind == "null":
                continue
            doubt = self.doubt(row, placed)
            is_settled = len(doubt.to) < len(placed.chain)
            takes_all = any(
                never_fails(doubt.kind, to) and narrow is None
                for to, narrow in zip(doubt.to, doubt.narrow, strict=True)
            )
            if doubt.to and not is_settled and not takes_all:
                yield doubt

    def doubt(self, row: Path, placed: Placed) -> Doubt:
        """Where such values stand, and what they may become."""
        rules = [rule for rule in placed.chain if rule.action in _PLACED and rule.data_type]
        columns = self.decision.schema.tables[self.decision.tables[row]].columns
        return Doubt(
            lists=tuple(tuple(self.lists[one]) for one in _ways(row) if one),
            access=placed.access,
            stored=placed.stored,
            kind=cast("Picked", placed.kind),
            to=tuple(rule.data_type for rule in rules if rule.data_type),
            narrow=tuple(_narrow(columns.get(rule.column or "")) for rule in rules),
        )

    def _refused(self, row: Path) -> Iterator[Refusal]:
        for placed in self.values[row].values():
            yield from self.refusal(placed)

    def refusal(self, placed: Placed) -> Iterator[Refusal]:
        """With which of these values their row is left out, if with any."""
        if placed.kind != "null" and any(rule.action == "discard_row" for rule in placed.chain):
            yield Refusal(
                at=placed.access,
                stored=placed.stored,
                kind=placed.kind,
                unless=tuple(
                    rule.data_type for rule in placed.chain if rule.action in _PLACED and rule.data_type
                ),
            )


def _stored(node: Node, kind: SeenType) -> tuple[Stored, str | None]:
    """How a value is stored, and its type where it was taken apart and is wanted whole."""
    if isinstance(node, Leaf):
        is_document = node.stored == "typed" and kind == "json" and node.sql != "STRING"
        return node.stored, node.sql if is_document else None
    holds = isinstance(node, Object) == (kind == "object") and kind in ("object", "list")
    return ("struct", keyed_type(node)) if holds else ("json", None)


def _narrow(column: Column | None) -> str | None:
    """The SQL type of a column that holds less than others of its type."""
    if column is None or column.data_type not in _SIZED:
        return None
    found = spark_type(column)
    return None if found == spark_type(replace(column, precision=None, scale=None)) else found


def _chain(rule: Rule | None) -> Iterator[Rule]:
    while rule is not None:
        yield replace(rule, otherwise=None)
        rule = rule.otherwise


def _ways(row: Path) -> Iterator[Path]:
    """The rows on the way to a row, itself last."""
    if row:
        above, _ = split_row(row[:-1])
        yield from _ways(above)
    yield row


def _is_mixed(node: Node) -> bool:
    return isinstance(node, Leaf) and node.stored == "mixed"


__all__ = [
    "Doubt",
    "Placed",
    "Planner",
    "TablePlan",
    "doubts",
    "keeps_whole",
    "plan_tables",
    "strict_fractions",
]
