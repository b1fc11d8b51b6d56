"""The plan of a chain: the commit of each of its tables, in order. Pure decisions.

Children are committed before their root, so that a reader who sees a root row finds its children. Decisions
that several tables must share, such as which root rows are superseded, are made once and stored before the
first commit: see `MergeSetPlan`.
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

CommitKind = Literal["nothing", "append", "overwrite", "recreate", "merge"]
"""The kind of a commit; `recreate` replaces data and schema."""

RowFilter = Literal["all", "winners", "kept", "new"]
"""The staged rows that are written.

`all`; `winners`: without duplicates of a primary key; `kept`: also without rows flagged for deletion; `new`:
versions that are not active yet. A nested row follows its root row.
"""

SupersededSet = Literal["keys", "root_ids", "ended_versions"]
"""The rows of the table that are deleted or ended.

`keys`: rows with a key of the load; `root_ids`: rows below a root row with such a key; `ended_versions`:
versions that are not active any more.
"""

MergeKind = Literal["delete_insert", "upsert", "insert", "scd2"]
"""The kind of a merge.

`delete_insert`: delete superseded rows and insert rows; `upsert`: update rows with the same key, delete
flagged ones, insert the others; `insert`: insert rows with new keys; `scd2`: end versions and insert new
ones.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """The commit of one table."""

    table: str
    commit: CommitKind
    rows: RowFilter | None = None
    """None: no rows of this load are written."""
    merge_kind: MergeKind | None = None
    superseded: SupersededSet | None = None
    match: tuple[str, ...] = ()
    """The columns by which rows of the table match rows of the load or superseded keys."""
    parent_key: str | None = None
    """The parent key of nested rows, for rows that are older than the root key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSetPlan:
    """The merge sets of a chain."""

    skipped_rows: bool = False
    """Root rows of the load that are not written."""
    superseding_keys: tuple[tuple[str, ...], ...] = ()
    """Sets of key columns: an existing root row that equals a staged row in one of them is superseded."""
    intermediate_tables: tuple[str, ...] = ()
    """Nested tables with nested tables of their own, parents first: their rows without a root key.

    Such rows are older than the first merge of the chain; rows below them are found through them.
    """
    versions: bool = False
    """Versions that end, and versions that begin."""

    @property
    def needs_target_table(self) -> bool:
        """Whether a set is read from the table that changes."""
        return bool(self.superseding_keys) or self.versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """The commits of a chain of tables."""

    root: str
    hints: MergeHints | None
    """None if the chain is not merged."""
    sets: MergeSetPlan
    steps: tuple[ChainStep, ...]
    """Nested tables before their parents."""

    @property
    def is_flat(self) -> bool:
        """Whether the chain has one table, so that no set is shared."""
        return len(self.steps) == 1

    @property
    def is_merged(self) -> bool:
        """Whether any table is merged."""
        return any(step.commit == "merge" for step in self.steps)

    def step(self, table: str) -> ChainStep:
        """Return the commit of one table."""
        return next(step for step in self.steps if step.table == table)

    def steps_for(self, table: str, with_rows: Collection[str]) -> tuple[ChainStep, ...]:
        """Return the commits of the job of one table; the root's job includes nested tables without rows."""
        return tuple(
            step
            for step in self.steps
            if step.table == table or (table == self.root and step.table not in with_rows)
        )


def chain_tables(root: str, tables: Mapping[str, Table], with_rows: Collection[str]) -> tuple[Table, ...]:
    """Return the tables of a chain, root first, that get rows or have seen some."""
    chain = [tables[root]]
    for parent in chain:
        chain += [table for table in tables.values() if table.parent == parent.name]
    return tuple(
        table for table in chain if table.name == root or table.name in with_rows or table.has_seen_data
    )


def plan_chain(
    root: str,
    tables: Mapping[str, Table],
    *,
    with_rows: Collection[str],
    default_strategy: MergeStrategy = STRATEGIES[0],
) -> ChainPlan:
    """Plan the commits of a chain, as if all of its tables existed; see `first_load_step` for others.

    `with_rows` names the tables that get rows. `default_strategy` is for roots without a merge strategy. A
    chain that is refreshed is planned as if none of its tables existed.
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
    """Return the commit of a table that does not exist yet: an append of its rows."""
    if step.rows is None:
        return ChainStep(table=step.table, commit="nothing")
    rows: RowFilter = "kept" if step.rows == "winners" else step.rows
    return ChainStep(table=step.table, commit="append", rows=rows)


def without_superseded(step: ChainStep) -> ChainStep:
    """Return the commit of a table without superseded rows: a delete-insert becomes an append."""
    if step.merge_kind != "delete_insert":
        return step
    return first_load_step(step)


def _plan_refresh(plan: ChainPlan, renewal: Renewal, with_rows: Collection[str]) -> ChainPlan:
    """Replace all existing rows by the same rows; tables without rows are truncated, or left out of the plan.

    The existing tables are not read, so the only set is that of skipped rows.
    """
    commit: CommitKind = "recreate" if renewal == "table" else "overwrite"
    row_filters = ((step.table, first_load_step(step).rows) for step in plan.steps)
    steps = tuple(
        # All versions are new to an empty table.
        ChainStep(table=table, commit=commit, rows="all" if rows == "new" else rows)
        for table, rows in row_filters
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
    # Without root rows no key is known by which rows are superseded: the tables are kept unchanged.
    return replace(plan, steps=tuple(ChainStep(table=step.table, commit="nothing") for step in plan.steps))


def _plan_sets(hints: MergeHints, nested: tuple[Table, ...]) -> MergeSetPlan:
    is_flat = not nested
    match hints.strategy:
        case "delete-insert" if is_flat and len(hints.key_sets) < 2:  # noqa: PLR2004 - one key is matched as it is
            keys: tuple[tuple[str, ...], ...] = ()
        case "delete-insert":
            keys = hints.key_sets
        case "upsert":
            keys = () if is_flat else (hints.primary_key,)
        case "insert-only":
            keys = ()
        case "scd2":
            return MergeSetPlan(versions=True)
        case _:
            assert_never(hints.strategy)
    parents = {table.parent for table in nested}
    intermediate = tuple(table.name for table in nested if table.name in parents) if keys else ()
    return MergeSetPlan(
        skipped_rows=hints.skips_rows, superseding_keys=keys, intermediate_tables=intermediate
    )


def _root_step(table: Table, hints: MergeHints, *, is_flat: bool) -> ChainStep:
    name = table.name
    match hints.strategy:
        case "delete-insert" if not hints.key_sets:
            return ChainStep(table=name, commit="append", rows="kept")
        case "delete-insert" if is_flat and len(hints.key_sets) == 1:
            (keys,) = hints.key_sets
            return ChainStep(
                table=name,
                commit="merge",
                rows="kept",
                merge_kind="delete_insert",
                superseded="keys",
                match=keys,
            )
        case "delete-insert":
            return ChainStep(
                table=name,
                commit="merge",
                rows="kept",
                merge_kind="delete_insert",
                superseded="root_ids",
                match=(hints.row_key,),
            )
        case "upsert":
            return ChainStep(
                table=name, commit="merge", rows="winners", merge_kind="upsert", match=hints.primary_key
            )
        case "insert-only":
            return ChainStep(
                table=name, commit="merge", rows="kept", merge_kind="insert", match=hints.primary_key
            )
        case "scd2":
            version = hints.scd2.version if hints.scd2 else ID_COLUMN
            return ChainStep(
                table=name,
                commit="merge",
                rows="new",
                merge_kind="scd2",
                superseded="ended_versions",
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
                merge_kind="delete_insert",
                superseded="root_ids",
                match=(_link_column(table, root),),
                parent_key=next(iter(table.columns_with("parent_key")), None),
            )
        case "insert-only" | "scd2":
            if not has_rows:
                return ChainStep(table=table.name, commit="nothing")
            rows: RowFilter = "new" if hints.strategy == "scd2" else "kept"
            return ChainStep(
                table=table.name, commit="merge", rows=rows, merge_kind="insert", match=(row_key,)
            )
        case _:
            assert_never(hints.strategy)


def _link_column(table: Table, root: Table) -> str:
    """Return the root key column, or else the parent key column."""
    for hint in ("root_key", "parent_key"):
        columns = table.columns_with(hint)
        if columns:
            return columns[0]
    raise SchemaCorruptedException(
        table=table.name, reason=f"it has no column with the key of {root.name} or of its parent"
    )
