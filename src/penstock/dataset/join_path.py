"""Joins along the references between tables: from nested tables to their parents, and declared ones."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import UsageError
from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Reference = Mapping[str, Any]


class Hop(NamedTuple):
    """A table to join, and the columns of the table before it that equal its own."""

    before: str
    table: str
    pairs: tuple[tuple[str, str], ...]


def join_path(references: Iterable[Reference], start: str, end: str) -> list[Hop]:
    """Return the shortest path of references from a table to another, in either direction.

    System tables connect all tables, so a path never leads through them.

    >>> parent = {"columns": ["_dlt_parent_id"], "referenced_columns": ["_dlt_id"]}
    >>> references = [{"table": "items__tags", "referenced_table": "items", **parent}]
    >>> join_path(references, "items", "items__tags")
    [Hop(before='items', table='items__tags', pairs=(('_dlt_id', '_dlt_parent_id'),))]
    """
    hops = [hop for reference in references for hop in _both_directions(reference)]
    paths: deque[list[Hop]] = deque([[]])
    visited = {start}
    while paths:
        path = paths.popleft()
        table = path[-1].table if path else start
        for hop in hops:
            if hop.before != table or hop.table in visited:
                continue
            if hop.table == end:
                return [*path, hop]
            visited.add(hop.table)
            if not hop.table.startswith(SYSTEM_PREFIX):
                paths.append([*path, hop])
    raise UsageError(
        f"no reference leads from {start} to {end}", hint="pass the condition of the join: on='a.id = b.a_id'"
    )


def _both_directions(reference: Reference) -> Iterator[Hop]:
    table, referenced = reference["table"], reference["referenced_table"]
    pairs = tuple(zip(reference["columns"], reference["referenced_columns"], strict=True))
    yield Hop(table, referenced, pairs)
    yield Hop(referenced, table, tuple((other, column) for column, other in pairs))
