from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.destinations.chains import nested_table, root_table

from penstock.destinations.lake.hints import STRATEGIES, merge_hints
from penstock.destinations.lake.plan import (
    ChainPlan,
    MergeSetPlan,
    first_load_step,
    plan_chain,
    without_superseded,
)
from penstock.errors import SchemaCorruptedException
from penstock.interfaces import RENEW

if TYPE_CHECKING:
    from penstock.schema import Table

NESTED = ("items__tags", "items__parts", "items__parts__sizes")


def tables(root: Table, *nested: Table) -> dict[str, Table]:
    return {table.name: table for table in (root, *nested)}


def chain_of_all(root: Table, *, root_key: bool = True) -> dict[str, Table]:
    return tables(root, *(nested_table(name, root_key=root_key) for name in NESTED))


def steps(plan: ChainPlan) -> list[tuple[Any, ...]]:
    return [
        (step.table, step.commit, step.merge_kind, step.rows, step.superseded, step.match)
        for step in plan.steps
    ]


def test_children_are_committed_before_their_parents() -> None:
    plan = plan_chain("items", chain_of_all(root_table()), with_rows=("items", *NESTED))

    assert [step.table for step in plan.steps] == [
        "items__parts__sizes",
        "items__parts",
        "items__tags",
        "items",
    ]


def test_an_append_commits_only_tables_with_rows_and_needs_no_merge_sets() -> None:
    plan = plan_chain(
        "items", chain_of_all(root_table(disposition="append")), with_rows=("items", "items__tags")
    )

    assert {step.table: step.commit for step in plan.steps} == {
        "items__parts__sizes": "nothing",
        "items__parts": "nothing",
        "items__tags": "append",
        "items": "append",
    }
    assert plan.sets == MergeSetPlan()


def test_a_replace_truncates_tables_without_rows() -> None:
    plan = plan_chain(
        "items", chain_of_all(root_table(disposition="replace")), with_rows=("items", "items__tags")
    )

    assert {step.table: (step.commit, step.rows) for step in plan.steps} == {
        "items__parts__sizes": ("overwrite", None),
        "items__parts": ("overwrite", None),
        "items__tags": ("overwrite", "all"),
        "items": ("overwrite", "all"),
    }


def test_a_table_that_never_had_rows_is_not_part_of_the_plan() -> None:
    row_filters = tables(root_table(), nested_table("items__tags", has_seen_data=False))

    assert [step.table for step in plan_chain("items", row_filters, with_rows=("items",)).steps] == ["items"]


def test_skip_does_nothing() -> None:
    plan = plan_chain("items", chain_of_all(root_table(disposition="skip")), with_rows=("items",))

    assert {step.commit for step in plan.steps} == {"nothing"}


def test_delete_insert_of_one_table_matches_by_its_key() -> None:
    plan = plan_chain("items", tables(root_table()), with_rows=("items",))

    assert steps(plan) == [("items", "merge", "delete_insert", "kept", "keys", ("id",))]
    assert plan.sets.superseding_keys == ()
    assert plan.is_flat


def test_with_two_keys_superseded_rows_are_found_by_a_merge_set() -> None:
    plan = plan_chain("items", tables(root_table(merge_key=("day",))), with_rows=("items",))

    assert steps(plan) == [("items", "merge", "delete_insert", "kept", "root_ids", ("_dlt_id",))]
    assert plan.sets.superseding_keys == (("id",), ("day",))


def test_delete_insert_of_a_chain_deletes_children_with_their_roots() -> None:
    plan = plan_chain("items", chain_of_all(root_table()), with_rows=("items", "items__tags"))

    assert steps(plan) == [
        ("items__parts__sizes", "merge", "delete_insert", None, "root_ids", ("_dlt_root_id",)),
        ("items__parts", "merge", "delete_insert", None, "root_ids", ("_dlt_root_id",)),
        ("items__tags", "merge", "delete_insert", "kept", "root_ids", ("_dlt_root_id",)),
        ("items", "merge", "delete_insert", "kept", "root_ids", ("_dlt_id",)),
    ]
    assert (plan.sets.skipped_rows, plan.sets.superseding_keys) == (True, (("id",),))


def test_rows_without_a_root_key_are_found_by_their_parents() -> None:
    plan = plan_chain("items", chain_of_all(root_table(), root_key=False), with_rows=("items", *NESTED))

    assert {step.match for step in plan.steps[:-1]} == {("_dlt_parent_id",)}
    assert plan.sets.intermediate_tables == ("items__parts",)


def test_a_nested_table_without_a_root_key_or_parent_key_is_refused() -> None:
    lost = nested_table("items__tags", root_key=False).without_columns("_dlt_parent_id")

    with pytest.raises(SchemaCorruptedException, match="no column with the key of items"):
        plan_chain("items", tables(root_table(), lost), with_rows=("items", "items__tags"))


def test_a_merge_without_a_key_appends_rows_that_are_not_flagged_for_deletion() -> None:
    plan = plan_chain(
        "items",
        chain_of_all(root_table(primary_key=(), hints={"deleted": {"hard_delete": True}})),
        with_rows=("items", "items__tags"),
    )

    assert {step.table: (step.commit, step.rows) for step in plan.steps} == {
        "items__parts__sizes": ("nothing", None),
        "items__parts": ("nothing", None),
        "items__tags": ("append", "kept"),
        "items": ("append", "kept"),
    }
    assert plan.sets.skipped_rows


def test_the_default_merge_strategy_is_that_of_the_destination() -> None:
    hints, by_default = (
        plan_chain("items", tables(root), with_rows=("items",), default_strategy="upsert").step("items")
        for root in (root_table(strategy="delete-insert"), root_table())
    )

    assert (hints.merge_kind, by_default.merge_kind) == ("delete_insert", "upsert")


def test_an_upsert_updates_the_root_and_replaces_its_children() -> None:
    plan = plan_chain(
        "items",
        tables(root_table(strategy="upsert", merge_key=("day",)), nested_table("items__tags")),
        with_rows=("items", "items__tags"),
    )

    assert steps(plan) == [
        ("items__tags", "merge", "delete_insert", "kept", "root_ids", ("_dlt_root_id",)),
        ("items", "merge", "upsert", "winners", None, ("id",)),
    ]
    assert plan.sets.superseding_keys == (("id",),)


def test_insert_only_adds_rows_with_new_keys() -> None:
    plan = plan_chain(
        "items",
        tables(root_table(strategy="insert-only"), nested_table("items__tags"), nested_table("items__x")),
        with_rows=("items", "items__tags"),
    )

    assert steps(plan) == [
        ("items__x", "nothing", None, None, None, ()),
        ("items__tags", "merge", "insert", "kept", None, ("_dlt_id",)),
        ("items", "merge", "insert", "kept", None, ("id",)),
    ]


def test_scd2_ends_versions_adds_new_ones_and_keeps_old_children() -> None:
    plan = plan_chain(
        "items",
        tables(root_table(strategy="scd2"), nested_table("items__tags", root_key=False)),
        with_rows=("items", "items__tags"),
    )

    assert steps(plan) == [
        ("items__tags", "merge", "insert", "new", None, ("_dlt_id",)),
        ("items", "merge", "scd2", "new", "ended_versions", ("_dlt_id",)),
    ]
    assert plan.sets.versions


@pytest.mark.parametrize("strategy", ["upsert", "insert-only"])
def test_some_strategies_need_a_primary_key(strategy: str) -> None:
    with pytest.raises(SchemaCorruptedException, match="needs a primary key"):
        merge_hints(root_table(primary_key=(), strategy=strategy))


def test_two_hard_delete_columns_are_refused() -> None:
    root = root_table(hints={"deleted": {"hard_delete": True}, "at": {"hard_delete": True}})

    with pytest.raises(SchemaCorruptedException, match="at and deleted have the hint 'hard_delete'"):
        merge_hints(root)


def test_hints_of_a_column_without_a_type_are_ignored() -> None:
    root = root_table()
    waiting = root.columns["deleted"].with_hints(hard_delete=True, data_type=None)

    assert merge_hints(root.with_columns([waiting])).hard_delete is None


def test_any_value_of_a_hard_delete_column_that_is_not_boolean_deletes() -> None:
    flagged = merge_hints(root_table(hints={"at": {"hard_delete": True}})).hard_delete

    assert flagged is not None
    assert flagged.sql("s") == "(`s`.`at` IS NOT NULL)"


@given(
    strategy=st.sampled_from(STRATEGIES),
    keys=st.sampled_from([(("id",), ()), ((), ("day",)), (("id",), ("day",)), (("id", "day"), ("name",))]),
    flags=st.booleans(),
    with_rows=st.sets(st.sampled_from(NESTED)),
)
def test_every_table_of_a_chain_gets_at_most_one_commit_and_nested_rows_follow_their_root(
    strategy: str, keys: tuple[tuple[str, ...], tuple[str, ...]], flags: bool, with_rows: set[str]
) -> None:
    primary, merge = keys
    if strategy in {"upsert", "insert-only"} and not primary:
        primary = ("id",)
    hints = {"deleted": {"hard_delete": True}} if flags else {}
    root = root_table(primary_key=primary, merge_key=merge, strategy=strategy, hints=hints)

    plan = plan_chain("items", chain_of_all(root), with_rows={"items", *with_rows})

    order = [step.table for step in plan.steps]
    assert sorted(order) == sorted(("items", *NESTED))
    assert all(order.index(name) < order.index(name.rpartition("__")[0]) for name in NESTED)
    for step in plan.steps:
        assert (step.rows is not None) == (step.table in {"items", *with_rows})
        assert (step.commit == "merge") == (step.merge_kind is not None)
        assert not step.match or step.commit == "merge"
        assert first_load_step(step).commit in {"append", "nothing"}
        assert (first_load_step(step).commit == "append") == (step.rows is not None)
        if step.merge_kind == "delete_insert":
            assert without_superseded(step) == first_load_step(step)
        if step.superseded == "root_ids":
            assert plan.sets.superseding_keys
    if strategy in {"delete-insert", "upsert"}:
        # Deleting a root row deletes its nested rows, with or without new ones.
        assert all(step.superseded == "root_ids" for step in plan.steps[:-1])


DISPOSITIONS = st.sampled_from(["append", "replace", *STRATEGIES])
ROWS = st.sets(st.sampled_from(NESTED)).map(lambda nested: ("items", *sorted(nested)))


def chain_of(disposition: str, renewal: str | None = None) -> dict[str, Table]:
    strategy = disposition if disposition in STRATEGIES else None
    hints: dict[str, Any] = {RENEW: renewal} if renewal else {}
    root = root_table(disposition="merge" if strategy else disposition, strategy=strategy, **hints)
    return chain_of_all(root)


@given(disposition=DISPOSITIONS, with_rows=ROWS, renewal=st.sampled_from(["table", "rows"]))
def test_a_refreshed_chain_is_planned_as_if_no_table_existed(
    disposition: str, with_rows: tuple[str, ...], renewal: str
) -> None:
    before = plan_chain("items", chain_of(disposition), with_rows=with_rows)

    plan = plan_chain("items", chain_of(disposition, renewal), with_rows=with_rows)

    at_once = {step.table: first_load_step(step).rows for step in before.steps}
    row_filters = {step.table: step.rows for step in plan.steps}
    assert {name: "new" if at_once[name] == "new" else rows for name, rows in row_filters.items()} == {
        name: rows for name, rows in at_once.items() if renewal == "rows" or name in with_rows
    }
    assert {step.commit for step in plan.steps} == {"recreate" if renewal == "table" else "overwrite"}
    assert not plan.sets.needs_target_table
    assert plan.sets.skipped_rows == before.sets.skipped_rows
    assert plan.hints == before.hints
    assert not plan.is_merged


@given(disposition=DISPOSITIONS, with_rows=ROWS)
def test_a_refresh_of_rows_covers_all_tables_of_a_chain(disposition: str, with_rows: tuple[str, ...]) -> None:
    plan = plan_chain("items", chain_of(disposition, "rows"), with_rows=with_rows)

    assert {step.table for step in plan.steps} == {"items", *NESTED}
    assert {step.table for step in plan.steps if step.rows is None} == set(NESTED) - set(with_rows)
