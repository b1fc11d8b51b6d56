"""Rows of nested tables, counted while the rows that hold them are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.normalize.nested_layout import ListOf, Object
from penstock.package.sql import quote_name
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.plan import TablePlan
    from penstock.package.projection.model import Projection
    from penstock.schema.value_path import ValuePath

_PARENT_AND_CHILD: Final = 2
_MAX_LISTS: Final = 200


def list_sizes(layout: NestedLayout) -> dict[ValuePath, str]:
    """SQL for the number of elements of each list in a row that stands in no other list.

    Those deeper down take a walk over all elements, and very many lists take long: the load counts those.
    """
    found = {(*path, EACH): f"coalesce(array_size({at}), 0)" for path, at in _root_lists(layout.root, "row")}
    return found if len(found) <= _MAX_LISTS else {}


def nested_counts(
    plans: Sequence[TablePlan], tables: Mapping[ValuePath, str], sizes: Mapping[ValuePath, int]
) -> dict[str, int | None]:
    """Rows of nested tables by what was counted of the lists; None where that does not tell."""
    counted: dict[str, int] = {}
    for path, size in sizes.items():
        row, _ = canonical_row_and_keys(path, is_list=False)
        if row in tables:
            counted[tables[row]] = counted.get(tables[row], 0) + size
    return {
        plan.table.name: counted.get(plan.table.name) if _is_countable(plan.projection) else None
        for plan in plans
        if len(plan.projection.levels) > 1
    }


def _is_countable(projection: Projection) -> bool:
    """Whether all rows come out of lists that are arrays in the root row, and none is refused."""
    is_plain = all(stored is None and not at.inside for at, stored in projection.levels[-1].lists)
    is_refused = any(level.refused for level in projection.levels)
    return len(projection.levels) == _PARENT_AND_CHILD and is_plain and not is_refused


def _root_lists(node: LayoutNode, value: str, path: ValuePath = ()) -> Iterator[tuple[ValuePath, str]]:
    match node:
        case Object(fields=fields):
            for key, (name, child) in fields.items():
                yield from _root_lists(child, f"{value}.{quote_name(name)}", (*path, key))
        case ListOf():
            yield path, value
        case _:
            return
