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

CommitKind = Literal["nothing", "append", "overwrite", "renew", "merge"]
"""What kind of commit is made; `renew` puts a table of another shape in the place of what is there."""

RowFilter = Literal["all", "winners", "kept", "new"]
"""Which staged rows go into the table.

`all`; `winners`: without those that another row with the same primary key wins over; `kept`: without those to
be deleted either; `new`: the versions that are not valid yet. A nested row goes with its root row.
"""

SupersededSet = Literal["keys", "gone", "retired"]
"""Which rows of the table give way.

`keys`: those with a key that comes in the load; `gone`: those that belong to a root row with such a key;
`retired`: those whose version is not valid any more.
"""

MergeKind = Literal["exchange", "upsert", "add", "history"]
"""What a merge does.

`exchange`: deletes what is marked and adds rows; `upsert`: updates rows with the same key, deletes, adds;
`add`: adds rows whose key is not there; `history`: ends versions and adds others.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """The commit that one table gets."""

    table: str
    commit: CommitKind
    rows: RowFilter | None = None
    """None: no rows of this load go into the table."""
    merge_kind: MergeKind | None = None
    superseded: SupersededSet | None = None
    match: tuple[str, ...] = ()
    """The columns that a row of the table and one of the load, or a mark, have in common."""
    parent_key: str | None = None
    """For nested rows that do not name their root yet: what they name is marked as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSetPlan:
    """What the tables of a chain must agree on."""

    skipped_rows: bool = False
    """Rows of the root that do not get into it."""
    superseding_keys: tuple[tuple[str, ...], ...] = ()
    """Rows that give way: those of the root that equal a staged row in one of these sets of columns."""
    intermediate_tables: tuple[str, ...] = ()
    """Nested tables that have others nested in them, parents first: rows that do not name their root.

    Such rows are from before the chain was merged; those below them are found by them.
    """
    versions: bool = False
    """Versions that end, and versions that begin."""

    @property
    def needs_target_table(self) -> bool:
        """Whether some of it is found in the table that changes."""
        return bool(self.superseding_keys) or self.versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """What happens to a chain of tables."""

    root: str
    hints: MergeHints | None
    """None where the chain is not merged."""
    sets: MergeSetPlan
    steps: tuple[ChainStep, ...]
    """Nested tables before those that they are nested in."""

    @property
    def is_flat(self) -> bool:
        """Whether there is one table: then it has nothing to agree on with others."""
        return len(self.steps) == 1

    @property
    def is_merged(self) -> bool:
        """Whether rows meet others with the same key."""
        return any(step.commit == "merge" for step in self.steps)

    def step(self, table: str) -> ChainStep:
        """The commit of one table."""
        return next(step for step in self.steps if step.table == table)

    def steps_for(self, table: str, with_rows: Collection[str]) -> tuple[ChainStep, ...]:
        """Return the commits of the job of one table; the root's job includes nested tables without rows."""
        return tuple(
            step
            for step in self.steps
            if step.table == table or (table == self.root and step.table not in with_rows)
        )


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
    plan = _plan_by_disposition(root, tables, with_rows, default_strategy)
    renewal = renewal_of(root, tables)
    return plan if renewal is None else _plan_refresh(plan, renewal, with_rows)


def _plan_by_disposition(
    root: str, tables: Mapping[str, Table], with_rows: Collection[str], default_strategy: MergeStrategy
) -> ChainPlan:
    chain = chain_tables(root, tables, with_rows)
    disposition = tables[root].write_disposition or "append"
    match disposition:
        case "skip":
            return _plan_uniform(chain, "nothing", ())
        case "append":
            return _plan_uniform(chain, "append", with_rows)
        case "replace":
            steps = [_overwrite_step(table, with_rows) for table in reversed(chain)]
            return ChainPlan(root=root, hints=None, sets=MergeSetPlan(), steps=tuple(steps))
        case "merge":
            return _plan_merge(chain, merge_hints(tables[root], default_strategy), with_rows)
        case _:
            assert_never(disposition)


def first_load_step(step: ChainStep) -> ChainStep:
    """What a table gets that is not there yet: its rows, without a look at others."""
    if step.rows is None:
        return ChainStep(table=step.table, commit="nothing")
    rows: RowFilter = "kept" if step.rows == "winners" else step.rows
    return ChainStep(table=step.table, commit="append", rows=rows)


def without_superseded(step: ChainStep) -> ChainStep:
    """What a table gets when nothing gives way: an exchange is an append then."""
    if step.merge_kind != "exchange":
        return step
    return first_load_step(step)


def _plan_refresh(plan: ChainPlan, renewal: Renewal, with_rows: Collection[str]) -> ChainPlan:
    """The same rows in the place of all that is there; tables without rows are emptied, or not part of it.

    Nothing is looked up in the tables, so all that they must agree on is which rows are left out.
    """
    how: CommitKind = "renew" if renewal == "table" else "overwrite"
    first = ((step.table, first_load_step(step).rows) for step in plan.steps)
    steps = tuple(
        # All versions are new to a table that begins anew.
        ChainStep(table=table, commit=how, rows="all" if rows == "new" else rows)
        for table, rows in first
        if renewal == "rows" or table in with_rows
    )
    return replace(plan, sets=MergeSetPlan(skipped_rows=plan.sets.skipped_rows), steps=steps)


def _plan_uniform(chain: Iterable[Table], commit: CommitKind, with_rows: Collection[str]) -> ChainPlan:
    tables = tuple(chain)
    steps = [
        ChainStep(table=table.name, commit=commit, rows="all")
        if table.name in with_rows
        else ChainStep(table=table.name, commit="nothing")
        for table in reversed(tables)
    ]
    return ChainPlan(root=tables[0].name, hints=None, sets=MergeSetPlan(), steps=tuple(steps))


def _overwrite_step(table: Table, with_rows: Collection[str]) -> ChainStep:
    return ChainStep(table=table.name, commit="overwrite", rows="all" if table.name in with_rows else None)


def _plan_merge(chain: tuple[Table, ...], hints: MergeHints, with_rows: Collection[str]) -> ChainPlan:
    root, nested = chain[0], chain[1:]
    plan = ChainPlan(
        root=root.name,
        hints=hints,
        sets=_plan_sets(hints, nested),
        steps=(
            *(_nested_step(table, root, hints, with_rows) for table in reversed(nested)),
            _root_step(root, hints, is_flat=not nested),
        ),
    )
    if root.name in with_rows:
        return plan
    # Without a row nothing is known of what shall give way: the tables stay as they are.
    return replace(plan, steps=tuple(ChainStep(table=step.table, commit="nothing") for step in plan.steps))


def _plan_sets(hints: MergeHints, nested: tuple[Table, ...]) -> MergeSetPlan:
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
            return MergeSetPlan(versions=True)
        case _:
            assert_never(hints.strategy)
    above = {table.parent for table in nested}
    between = tuple(table.name for table in nested if table.name in above) if gone else ()
    return MergeSetPlan(skipped_rows=hints.skips_rows, superseding_keys=gone, intermediate_tables=between)


def _root_step(table: Table, hints: MergeHints, *, is_flat: bool) -> ChainStep:
    name = table.name
    match hints.strategy:
        case "delete-insert" if not hints.key_sets:
            return ChainStep(table=name, commit="append", rows="kept")
        case "delete-insert" if is_flat and len(hints.key_sets) == 1:
            (keys,) = hints.key_sets
            return ChainStep(
                table=name, commit="merge", rows="kept", merge_kind="exchange", superseded="keys", match=keys
            )
        case "delete-insert":
            return ChainStep(
                table=name,
                commit="merge",
                rows="kept",
                merge_kind="exchange",
                superseded="gone",
                match=(hints.row_key,),
            )
        case "upsert":
            return ChainStep(
                table=name, commit="merge", rows="winners", merge_kind="upsert", match=hints.primary_key
            )
        case "insert-only":
            return ChainStep(
                table=name, commit="merge", rows="kept", merge_kind="add", match=hints.primary_key
            )
        case "scd2":
            version = hints.scd2.version if hints.scd2 else ID_COLUMN
            return ChainStep(
                table=name,
                commit="merge",
                rows="new",
                merge_kind="history",
                superseded="retired",
                match=(version,),
            )
        case _:
            assert_never(hints.strategy)


def _nested_step(table: Table, root: Table, hints: MergeHints, with_rows: Collection[str]) -> ChainStep:
    has_rows = table.name in with_rows
    row_key = next(iter(table.columns_with("row_key")), ID_COLUMN)
    match hints.strategy:
        case "delete-insert" if not hints.key_sets:
            return (
                ChainStep(table=table.name, commit="append", rows="kept")
                if has_rows
                else ChainStep(table=table.name, commit="nothing")
            )
        case "delete-insert" | "upsert":
            return ChainStep(
                table=table.name,
                commit="merge",
                rows="kept" if has_rows else None,
                merge_kind="exchange",
                superseded="gone",
                match=(_link_column(table, root),),
                parent_key=next(iter(table.columns_with("parent_key")), None),
            )
        case "insert-only" | "scd2":
            if not has_rows:
                return ChainStep(table=table.name, commit="nothing")
            rows: RowFilter = "new" if hints.strategy == "scd2" else "kept"
            return ChainStep(table=table.name, commit="merge", rows=rows, merge_kind="add", match=(row_key,))
        case _:
            assert_never(hints.strategy)


def _link_column(table: Table, root: Table) -> str:
    """The column that names the root row, or the parent where rows do not name their root."""
    for hint in ("root_key", "parent_key"):
        found = table.columns_with(hint)
        if found:
            return found[0]
    raise SchemaCorruptedException(
        table=table.name, reason=f"its rows do not say which row of {root.name} they belong to"
    )
