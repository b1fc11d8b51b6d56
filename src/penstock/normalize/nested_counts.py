"""Row counts of nested tables, taken from list sizes while the root rows are written."""

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
    """Return SQL for the size of each list of a root row that is in no other list.

    Inner lists, and very many lists, would be slow to count here: the load counts their rows.
    """
    sizes = {
        (*path, EACH): f"coalesce(array_size({value}), 0)" for path, value in _root_lists(layout.root, "row")
    }
    return sizes if len(sizes) <= _MAX_LISTS else {}


def nested_counts(
    plans: Sequence[TablePlan], tables: Mapping[ValuePath, str], sizes: Mapping[ValuePath, int]
) -> dict[str, int | None]:
    """Return the row counts of nested tables from list sizes; None where these are not enough."""
    counts: dict[str, int] = {}
    for path, size in sizes.items():
        row, _ = canonical_row_and_keys(path, is_list=False)
        if row in tables:
            counts[tables[row]] = counts.get(tables[row], 0) + size
    return {
        plan.table.name: counts.get(plan.table.name) if _is_countable(plan.projection) else None
        for plan in plans
        if len(plan.projection.levels) > 1
    }


def _is_countable(projection: Projection) -> bool:
    """Return whether all rows are elements of arrays in the root row, and none is refused."""
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
