"""What a load does to each table of a chain, in order: pure decisions.

Children come before their root, so whoever sees a root row finds its children. What several tables must agree
on, such as which rows of the root give way, is found out once and written down before the first of them
changes: `Sets` says what that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

from penstock.destinations.lake.hints import STRATEGIES, MergeHints, MergeStrategy, merge_hints
from penstock.errors import SchemaCorruptedException
from penstock.interfaces.refresh import renewal_of
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from penstock.interfaces import Renewal
    from penstock.schema import Table

How = Literal["nothing", "append", "overwrite", "renew", "merge"]
"""What kind of commit is made; `renew` puts a table of another shape in the place of what is there."""

Choice = Literal["all", "winners", "kept", "new"]
"""Which staged rows go into the table.

`all`; `winners`: without those that another row with the same primary key wins over; `kept`: without those to
be deleted either; `new`: the versions that are not valid yet. A nested row goes with its root row.
"""

Marks = Literal["keys", "gone", "retired"]
"""Which rows of the table give way.

`keys`: those with a key that comes in the load; `gone`: those that belong to a root row with such a key;
`retired`: those whose version is not valid any more.
"""

Kind = Literal["exchange", "upsert", "add", "history"]
"""What a merge does.

`exchange`: deletes what is marked and adds rows; `upsert`: updates rows with the same key, deletes, adds;
`add`: adds rows whose key is not there; `history`: ends versions and adds others.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The commit that one table gets."""

    table: str
    how: How
    rows: Choice | None = None
    """None: no rows of this load go into the table."""
    kind: Kind | None = None
    marks: Marks | None = None
    match: tuple[str, ...] = ()
    """The columns that a row of the table and one of the load, or a mark, have in common."""
    parent_key: str | None = None
    """For nested rows that do not name their root yet: what they name is marked as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """What the tables of a chain must agree on."""

    left_out: bool = False
    """Rows of the root that do not get into it."""
    gone: tuple[tuple[str, ...], ...] = ()
    """Rows that give way: those of the root that equal a staged row in one of these sets of columns."""
    between: tuple[str, ...] = ()
    """Nested tables that have others nested in them, parents first: rows that do not name their root.

    Such rows are from before the chain was merged; those below them are found by them.
    """
    versions: bool = False
    """Versions that end, and versions that begin."""

    @property
    def are_empty(self) -> bool:
        """Whether there is nothing to agree on."""
        return not (self.left_out or self.come_from_the_table)

    @property
    def come_from_the_table(self) -> bool:
        """Whether some of it is found in the table that changes."""
        return bool(self.gone) or self.versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """What happens to a chain of tables."""

    root: str
    hints: MergeHints | None
    """None where the chain is not merged."""
    sets: Sets
    steps: tuple[Step, ...]
    """Nested tables before those that they are nested in."""

    @property
    def is_flat(self) -> bool:
        """Whether there is one table: then it has nothing to agree on with others."""
        return len(self.steps) == 1

    @property
    def is_merged(self) -> bool:
        """Whether rows meet others with the same key."""
        return any(step.how == "merge" for step in self.steps)

    def step(self, table: str) -> Step:
        """The commit of one table."""
        return next(step for step in self.steps if step.table == table)


def chain_tables(root: str, tables: Mapping[str, Table], with_rows: Collection[str]) -> tuple[Table, ...]:
    """The tables that a load must look at, root first: those that get rows, and those that had some."""
    found = [tables[root]]
    for table in found:
        found += [one for one in tables.values() if one.parent == table.name]
    return tuple(
        table for table in found if table.name == root or table.name in with_rows or table.has_seen_data
    )


def plan_chain(
    root: str,
    tables: Mapping[str, Table],
    *,
    with_rows: Collection[str],
    default_strategy: MergeStrategy = STRATEGIES[0],
) -> ChainPlan:
    """Decide what the tables of a chain get, where all of them are there; `at_first` is for others.

    `with_rows` names the tables that get rows. `default_strategy` is for roots that do not say how they are
    merged. A chain that begins anew gets what it would get if none of its tables were there.
    """
    plan = _planned(root, tables, with_rows, default_strategy)
    renewal = renewal_of(root, tables)
    return plan if renewal is None else _renewed(plan, renewal, with_rows)


def _planned(
    root: str, tables: Mapping[str, Table], with_rows: Collection[str], default_strategy: MergeStrategy
) -> ChainPlan:
    chain = chain_tables(root, tables, with_rows)
    disposition = tables[root].write_disposition or "append"
    match disposition:
        case "skip":
            return _plain(chain, "nothing", ())
        case "append":
            return _plain(chain, "append", with_rows)
        case "replace":
            steps = [_overwritten(table, with_rows) for table in reversed(chain)]
            return ChainPlan(root=root, hints=None, sets=Sets(), steps=tuple(steps))
        case "merge":
            return _merged(chain, merge_hints(tables[root], default_strategy), with_rows)
        case _:
            assert_never(disposition)


def at_first(step: Step) -> Step:
    """What a table gets that is not there yet: its rows, without a look at others."""
    if step.rows is None:
        return Step(table=step.table, how="nothing")
    rows: Choice = "kept" if step.rows == "winners" else step.rows
    return Step(table=step.table, how="append", rows=rows)


def without_marks(step: Step) -> Step:
    """What a table gets when nothing gives way: an exchange is an append then."""
    if step.kind != "exchange":
        return step
    return at_first(step)


def _renewed(plan: ChainPlan, renewal: Renewal, with_rows: Collection[str]) -> ChainPlan:
    """The same rows in the place of all that is there; tables without rows are emptied, or not part of it.

    Nothing is looked up in the tables, so all that they must agree on is which rows are left out.
    """
    how: How = "renew" if renewal == "table" else "overwrite"
    first = ((step.table, at_first(step).rows) for step in plan.steps)
    steps = tuple(
        # All versions are new to a table that begins anew.
        Step(table=table, how=how, rows="all" if rows == "new" else rows)
        for table, rows in first
        if renewal == "rows" or table in with_rows
    )
    return replace(plan, sets=Sets(left_out=plan.sets.left_out), steps=steps)


def _plain(chain: Iterable[Table], how: How, with_rows: Collection[str]) -> ChainPlan:
    tables = tuple(chain)
    steps = [
        Step(table=table.name, how=how, rows="all")
        if table.name in with_rows
        else Step(table=table.name, how="nothing")
        for table in reversed(tables)
    ]
    return ChainPlan(root=tables[0].name, hints=None, sets=Sets(), steps=tuple(steps))


def _overwritten(table: Table, with_rows: Collection[str]) -> Step:
    return Step(table=table.name, how="overwrite", rows="all" if table.name in with_rows else None)


def _merged(chain: tuple[Table, ...], hints: MergeHints, with_rows: Collection[str]) -> ChainPlan:
    root, nested = chain[0], chain[1:]
    plan = ChainPlan(
        root=root.name,
        hints=hints,
        sets=_sets(hints, nested),
        steps=(
            *(_nested(table, root, hints, with_rows) for table in reversed(nested)),
            _root(root, hints, is_flat=not nested),
        ),
    )
    if root.name in with_rows:
        return plan
    # Without a row nothing is known of what shall give way: the tables stay as they are.
    return replace(plan, steps=tuple(Step(table=step.table, how="nothing") for step in plan.steps))


def _sets(hints: MergeHints, nested: tuple[Table, ...]) -> Sets:
    is_flat = not nested
    match hints.strategy:
        case "delete-insert" if is_flat and len(hints.key_sets) < 2:  # noqa: PLR2004 - one key is matched as it is
            gone: tuple[tuple[str, ...], ...] = ()
        case "delete-insert":
            gone = hints.key_sets
        case "upsert":
            gone = () if is_flat else (hints.primary_key,)
        case "insert-only":
            gone = ()
        case "scd2":
            return Sets(versions=True)
        case _:
            assert_never(hints.strategy)
    above = {table.parent for table in nested}
    between = tuple(table.name for table in nested if table.name in above) if gone else ()
    return Sets(left_out=hints.leaves_out, gone=gone, between=between)


def _root(table: Table, hints: MergeHints, *, is_flat: bool) -> Step:
    name = table.name
    match hints.strategy:
        case "delete-insert" if not hints.key_sets:
            return Step(table=name, how="append", rows="kept")
        case "delete-insert" if is_flat and len(hints.key_sets) == 1:
            (keys,) = hints.key_sets
            return Step(table=name, how="merge", rows="kept", kind="exchange", marks="keys", match=keys)
        case "delete-insert":
            return Step(
                table=name, how="merge", rows="kept", kind="exchange", marks="gone", match=(hints.row_key,)
            )
        case "upsert":
            return Step(table=name, how="merge", rows="winners", kind="upsert", match=hints.primary_key)
        case "insert-only":
            return Step(table=name, how="merge", rows="kept", kind="add", match=hints.primary_key)
        case "scd2":
            version = hints.history.version if hints.history else ID_COLUMN
            return Step(
                table=name, how="merge", rows="new", kind="history", marks="retired", match=(version,)
            )
        case _:
            assert_never(hints.strategy)


def _nested(table: Table, root: Table, hints: MergeHints, with_rows: Collection[str]) -> Step:
    has_rows = table.name in with_rows
    row_key = next(iter(table.columns_with("row_key")), ID_COLUMN)
    match hints.strategy:
        case "delete-insert" if not hints.key_sets:
            return (
                Step(table=table.name, how="append", rows="kept")
                if has_rows
                else Step(table=table.name, how="nothing")
            )
        case "delete-insert" | "upsert":
            return Step(
                table=table.name,
                how="merge",
                rows="kept" if has_rows else None,
                kind="exchange",
                marks="gone",
                match=(_link(table, root),),
                parent_key=next(iter(table.columns_with("parent_key")), None),
            )
        case "insert-only" | "scd2":
            if not has_rows:
                return Step(table=table.name, how="nothing")
            rows: Choice = "new" if hints.strategy == "scd2" else "kept"
            return Step(table=table.name, how="merge", rows=rows, kind="add", match=(row_key,))
        case _:
            assert_never(hints.strategy)


def _link(table: Table, root: Table) -> str:
    """The column that names the root row, or the parent where rows do not name their root."""
    for hint in ("root_key", "parent_key"):
        found = table.columns_with(hint)
        if found:
            return found[0]
    raise SchemaCorruptedException(
        table=table.name, reason=f"its rows do not say which row of {root.name} they belong to"
    )
