"""The columns of a nested dataset that one table needs: who reads it need not know all the others.

A row may have hundreds of lists. With all of them in each job file, the cost of a load would grow with the
square of their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import ListOf, NestedLayout, Object
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from penstock.normalize.nested_layout import LayoutNode
    from penstock.package.projection.model import Level, OutputColumn, Projection
    from penstock.schema.value_path import ValuePath

# No field has this name: elements of which nothing is read are counted all the same.
_ELEMENT_MARKER: Final = ""


def pruned_columns(layout: NestedLayout, projection: Projection) -> str:
    """The columns that a projection reads, as Spark SQL writes them."""
    root = _pruned_node(layout.root, list(_projection_paths(projection)))
    return NestedLayout(root if isinstance(root, Object) else layout.root).columns


def _projection_paths(projection: Projection) -> Iterator[ValuePath]:
    """Everything that is read, by the names of fields."""
    above: list[ValuePath] = [()]
    for level in projection.levels:
        if level.lists:
            above = [(*base, *at.path, EACH) for base in above for at, _ in level.lists]
        for base in above:
            yield from ((*base, *path) for path in _level_paths(level))
    for base in above:
        yield from ((*base, *path) for one in projection.columns for path in _column_paths(one))
        if EACH in base:
            yield (*base, _ELEMENT_MARKER)


def _level_paths(level: Level) -> Iterator[ValuePath]:
    for one in (level.own_id, *level.passed):
        if one is not None:
            yield from _column_paths(one)
    yield from (one.at.path for one in level.refused)


def _column_paths(column: OutputColumn) -> Iterator[ValuePath]:
    return (value.at.path for value in column.values)


def _pruned_node(node: LayoutNode, paths: Collection[ValuePath]) -> LayoutNode:
    """What stands in these places, with all below; whatever else is needed to get there."""
    if () in paths:
        return node
    match node:
        case Object(fields=fields):
            kept = {
                key: (name, _pruned_node(child, [place[1:] for place in paths if place[0] == name]))
                for key, (name, child) in fields.items()
                if any(place[0] == name for place in paths)
            }
            return Object(fields=kept) if kept else node
        case ListOf(element=element):
            return ListOf(element=_pruned_node(element, [place[1:] for place in paths]))
        case _:
            return node
