"""The typed nested dataset of a root table: which keys are read, and what they are called in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.normalize.tree import Kind, Leaf, ListOf, Node, Object
from penstock.package.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    NameKeys = Callable[[Sequence[str]], Mapping[str, str]]

_SQL_TYPES: dict[Kind, str] = {
    "bool": "BOOLEAN",
    "bigint": "BIGINT",
    "wide": "DECIMAL(38,0)",
    "double": "DOUBLE",
    "text": "STRING",
    "mixed": "VARIANT",
    "void": "STRING",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A leaf of the nested dataset: its raw keys, the names it got, and its kind."""

    keys: tuple[str, ...]
    names: tuple[str, ...]
    leaf: Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rows of one table inside the nested dataset: the root, or the elements of a list."""

    keys: tuple[str, ...]
    """Raw keys from the row of the parent group to this list; empty for the root."""
    names: tuple[str, ...]
    """The same in names of the nested dataset."""
    values: tuple[Value, ...]
    children: tuple[Group, ...]

    def walk(self, above: tuple[Group, ...] = ()) -> Iterator[tuple[Group, ...]]:
        """Every group, as the way that leads to it from the root; parents before children."""
        way = (*above, self)
        yield way
        for child in self.children:
            yield from child.walk(way)


def sql_type(node: Node, name_keys: NameKeys) -> str:
    """The Spark SQL type of a node in the nested dataset, under the names it has there."""
    match node:
        case Leaf(kind, typed):
            return _SQL_TYPES[kind] if typed is None else typed.sql
        case ListOf(element):
            return f"ARRAY<{sql_type(element, name_keys)}>"
        case Object(fields):
            names = name_keys([key for key, _ in fields])
            inner = (f"{quoted(names[key])}: {sql_type(child, name_keys)}" for key, child in fields)
            return f"STRUCT<{', '.join(inner)}>"


def nested_schema(tree: Node, name_keys: NameKeys) -> str:
    """The columns of the nested dataset, so that nobody has to open its files to know them.

    Rows without a single value have no struct: Parquet knows none without fields.
    """
    row = "BOOLEAN" if tree == Object(()) else sql_type(tree, name_keys)
    return f"id STRING, row {row}"


def group_of(
    node: Node, name_keys: NameKeys, *, keys: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> Group:
    """Sort a tree into tables: objects are flattened into their row, lists become groups of their own."""
    values: list[Value] = []
    children: list[Group] = []

    def visit(inner: Node, raw: tuple[str, ...], named: tuple[str, ...]) -> None:
        match inner:
            case Leaf():
                values.append(Value(keys=raw, names=named, leaf=inner))
            case ListOf(element):
                children.append(group_of(element, name_keys, keys=raw, names=named))
            case Object(fields):
                field_names = name_keys([key for key, _ in fields])
                for key, child in fields:
                    visit(child, (*raw, key), (*named, field_names[key]))

    visit(node, (), ())
    return Group(keys=keys, names=names, values=tuple(values), children=tuple(children))
