"""The columns of a nested dataset that one table needs: who reads it need not know all the others.

A row may have hundreds of lists. With all of them in each job file, the cost of a load would grow with the
square of their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.stored import Dataset, ListOf, Object
from penstock.schema.path import EACH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from penstock.normalize.stored import Node
    from penstock.package.projection import Level, OutputColumn, Projection
    from penstock.schema.path import Path

# No field has this name: elements of which nothing is read are counted all the same.
_THERE: Final = ""


def columns_for(dataset: Dataset, projection: Projection) -> str:
    """The columns that a projection reads, as Spark SQL writes them."""
    root = _pruned(dataset.root, list(_places(projection)))
    return Dataset(root if isinstance(root, Object) else dataset.root).columns


def _places(projection: Projection) -> Iterator[Path]:
    """Everything that is read, by the names of fields."""
    above: list[Path] = [()]
    for level in projection.levels:
        if level.lists:
            above = [(*base, *at.path, EACH) for base in above for at, _ in level.lists]
        for base in above:
            yield from ((*base, *path) for path in _read(level))
    for base in above:
        yield from ((*base, *path) for one in projection.columns for path in _values(one))
        if EACH in base:
            yield (*base, _THERE)


def _read(level: Level) -> Iterator[Path]:
    for one in (level.own_id, *level.passed):
        if one is not None:
            yield from _values(one)
    yield from (one.at.path for one in level.refused)


def _values(column: OutputColumn) -> Iterator[Path]:
    return (value.at.path for value in column.values)


def _pruned(node: Node, places: Collection[Path]) -> Node:
    """What stands in these places, with all below; whatever else is needed to get there."""
    if () in places:
        return node
    match node:
        case Object(fields=fields):
            kept = {
                key: (name, _pruned(child, [place[1:] for place in places if place[0] == name]))
                for key, (name, child) in fields.items()
                if any(place[0] == name for place in places)
            }
            return Object(fields=kept) if kept else node
        case ListOf(element=element):
            return ListOf(element=_pruned(element, [place[1:] for place in places]))
        case _:
            return node
