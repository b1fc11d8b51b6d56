"""Decides the tables of a package.

Names, types, new columns, and the projection that brings each one's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from penstock.normalize.kinds import Seen
from penstock.normalize.types import Arrival, arrival, into
from penstock.package.projection import ListStep, OutputColumn, Projection
from penstock.schema import Column, Table, plain_name, spark_type
from penstock.schema.shorten import tagged

if TYPE_CHECKING:
    from penstock.normalize.shape import Group
    from penstock.package.projection import Conversion
    from penstock.schema import NamingConvention

SCALAR = "value"
INNER_LIST = "list"
_SYSTEM = frozenset(("_dlt_id", "_dlt_load_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_root_id"))

_LOAD_ID = Column(name="_dlt_load_id", data_type="text", nullable=False)
_PARENT_ID = Column(name="_dlt_parent_id", data_type="text", nullable=False, hints={"parent_key": True})
_LIST_IDX = Column(name="_dlt_list_idx", data_type="bigint", nullable=False)
_ID = Column(name="_dlt_id", data_type="text", nullable=False, hints={"unique": True, "row_key": True})

SeenByPath = Mapping[tuple[tuple[str, ...], ...], Seen]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One table of the package: how it will look after this load and where its rows come from."""

    table: Table
    projection: Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class RootHints:
    """What is known of the root table before its rows are looked at."""

    table: str
    resource: str
    write_disposition: str
    extras: Mapping[str, Any]
    """Other keys of the table document, such as `table_format`."""


def plan_tables(
    root: Group,
    hints: RootHints,
    seen: SeenByPath,
    *,
    stored: Mapping[str, Table],
    naming: NamingConvention,
) -> list[TablePlan]:
    """One plan for each group, the root first. What a stored table holds stays; the plan only adds to it."""
    plans: list[TablePlan] = []
    names: dict[int, str] = {}
    for way in root.walk():
        group, parent = way[-1], names[id(way[-2])] if len(way) > 1 else None
        name = hints.table if parent is None else _child_name(parent, group, set(names.values()), naming)
        names[id(group)] = name
        fresh = _new_table(name, parent, hints)
        before = stored.get(name, fresh)
        paths = tuple(step.keys for step in way)
        columns, outputs = _columns(group, paths, seen, before=before, naming=naming)
        # What is not in the document yet is added, never taken away; system columns follow the first data
        # columns.
        after = before.merged(fresh).with_columns(columns)
        after = after.with_columns(column for column in _system(parent) if column.name not in after.columns)
        steps = tuple(ListStep(path=step.names, table=names[id(step)]) for step in way[1:])
        plans.append(
            TablePlan(
                table=after.with_seen_data(), projection=Projection(steps=steps, columns=tuple(outputs))
            )
        )
    return plans


def _child_name(parent: str, group: Group, taken: Set[str], naming: NamingConvention) -> str:
    keys = [plain_name(key, naming) for key in group.keys] or [INNER_LIST]
    return _free(naming.shorten_fragments(parent, *keys), group.keys, taken, naming)


def _free(plain: str, keys: tuple[str, ...], taken: Set[str], naming: NamingConvention) -> str:
    """The plain name, or one with a tag of the raw keys where another has it."""
    original = "\x1f".join(keys)
    candidates = (
        tagged(plain, original=f"{original}{attempt or ''}", max_length=naming.max_length)
        for attempt in count()
    )
    return plain if plain not in taken else next(name for name in candidates if name not in taken)


def _new_table(name: str, parent: str | None, hints: RootHints) -> Table:
    if parent is not None:
        return Table(name=name, parent=parent)
    document = {"name": name, "resource": hints.resource, "write_disposition": hints.write_disposition}
    return Table.from_dict({**document, **hints.extras})


def _system(parent: str | None) -> tuple[Column, ...]:
    return (_LOAD_ID, _ID) if parent is None else (_PARENT_ID, _LIST_IDX, _ID)


def _columns(
    group: Group,
    paths: tuple[tuple[str, ...], ...],
    seen: SeenByPath,
    *,
    before: Table,
    naming: NamingConvention,
) -> tuple[list[Column], list[OutputColumn]]:
    taken = set(_SYSTEM)
    columns: list[Column] = []
    outputs: list[OutputColumn] = []
    plains: list[str] = []
    for value in group.values:
        joined = naming.shorten_fragments(*(plain_name(key, naming) for key in value.keys)) or SCALAR
        plains.append(_free(joined, value.keys, taken, naming))
        taken.add(plains[-1])
    # Every key has its name before the first variant looks for one.
    for value, plain in zip(group.values, plains, strict=True):
        arriving = arrival(value.leaf, seen.get((*paths, value.keys), Seen.NOTHING))
        column, conversion = _placed(plain, arriving, before, taken, naming)
        taken.add(column.name)
        columns.append(column)
        outputs.append(
            OutputColumn(
                name=column.name,
                path=value.names,
                sql_type=spark_type(column),
                conversion=conversion,
                tagged=arriving.tagged,
            )
        )
    return columns, outputs


def _placed(
    plain: str, arriving: Arrival, before: Table, taken: Set[str], naming: NamingConvention
) -> tuple[Column, Conversion]:
    """The column that takes the arriving values: a new one, the stored one, or a variant beside it."""
    known = before.columns.get(plain)
    if known is None:
        return _column(plain, arriving), arriving.conversion
    if known.data_type is None:
        known = known.merged(replace(_column(plain, arriving), nullable=known.nullable))
    conversion = into(known, arriving)
    if conversion is not None:
        return known, conversion
    refusing = {name for name, column in before.columns.items() if into(column, arriving) is None}
    variant = naming.shorten_fragments(plain, f"v_{arriving.data_type}")
    name = _free(variant, (plain, arriving.data_type), taken | refusing, naming)
    column = before.columns.get(name, _column(name, arriving).with_hints(variant=True))
    return column, into(column, arriving) or arriving.conversion


def _column(name: str, arriving: Arrival) -> Column:
    return Column(
        name=name,
        data_type=arriving.data_type,
        nullable=True,
        precision=arriving.precision,
        scale=arriving.scale,
    )
