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


def whole(root: Table, *, root_key: bool = True) -> dict[str, Table]:
    return tables(root, *(nested_table(name, root_key=root_key) for name in NESTED))


def steps(plan: ChainPlan) -> list[tuple[Any, ...]]:
    return [
        (step.table, step.commit, step.merge_kind, step.rows, step.superseded, step.match)
        for step in plan.steps
    ]


def test_children_come_before_the_rows_that_they_belong_to() -> None:
    plan = plan_chain("items", whole(root_table()), with_rows=("items", *NESTED))

    assert [step.table for step in plan.steps] == [
        "items__parts__sizes",
        "items__parts",
        "items__tags",
        "items",
    ]


def test_an_append_adds_rows_where_there_are_some_and_looks_at_nothing_else() -> None:
    plan = plan_chain("items", whole(root_table(disposition="append")), with_rows=("items", "items__tags"))

    assert {step.table: step.commit for step in plan.steps} == {
        "items__parts__sizes": "nothing",
        "items__parts": "nothing",
        "items__tags": "append",
        "items": "append",
    }
    assert plan.sets == MergeSetPlan()


def test_a_replace_empties_the_tables_that_get_no_rows() -> None:
    plan = plan_chain("items", whole(root_table(disposition="replace")), with_rows=("items", "items__tags"))

    assert {step.table: (step.commit, step.rows) for step in plan.steps} == {
        "items__parts__sizes": ("overwrite", None),
        "items__parts": ("overwrite", None),
        "items__tags": ("overwrite", "all"),
        "items": ("overwrite", "all"),
    }


def test_a_table_that_never_had_rows_is_not_looked_at() -> None:
    found = tables(root_table(), nested_table("items__tags", seen=False))

    assert [step.table for step in plan_chain("items", found, with_rows=("items",)).steps] == ["items"]


def test_skip_does_nothing() -> None:
    plan = plan_chain("items", whole(root_table(disposition="skip")), with_rows=("items",))

    assert {step.commit for step in plan.steps} == {"nothing"}


def test_delete_insert_of_one_table_matches_by_its_key() -> None:
    plan = plan_chain("items", tables(root_table()), with_rows=("items",))

    assert steps(plan) == [("items", "merge", "delete_insert", "kept", "keys", ("id",))]
    assert plan.sets.superseding_keys == ()
    assert plan.is_flat


def test_with_two_keys_the_rows_that_give_way_are_found_first() -> None:
    plan = plan_chain("items", tables(root_table(merge_key=("day",))), with_rows=("items",))

    assert steps(plan) == [("items", "merge", "delete_insert", "kept", "root_ids", ("_dlt_id",))]
    assert plan.sets.superseding_keys == (("id",), ("day",))


def test_delete_insert_of_a_chain_takes_children_with_their_roots() -> None:
    plan = plan_chain("items", whole(root_table()), with_rows=("items", "items__tags"))

    assert steps(plan) == [
        ("items__parts__sizes", "merge", "delete_insert", None, "root_ids", ("_dlt_root_id",)),
        ("items__parts", "merge", "delete_insert", None, "root_ids", ("_dlt_root_id",)),
        ("items__tags", "merge", "delete_insert", "kept", "root_ids", ("_dlt_root_id",)),
        ("items", "merge", "delete_insert", "kept", "root_ids", ("_dlt_id",)),
    ]
    assert (plan.sets.skipped_rows, plan.sets.superseding_keys) == (True, (("id",),))


def test_rows_that_do_not_name_their_root_are_found_by_their_parents() -> None:
    plan = plan_chain("items", whole(root_table(), root_key=False), with_rows=("items", *NESTED))

    assert {step.match for step in plan.steps[:-1]} == {("_dlt_parent_id",)}
    assert plan.sets.intermediate_tables == ("items__parts",)


def test_rows_that_name_nothing_are_refused() -> None:
    lost = nested_table("items__tags", root_key=False).without_columns("_dlt_parent_id")

    with pytest.raises(SchemaCorruptedException, match="no column with the key of items"):
        plan_chain("items", tables(root_table(), lost), with_rows=("items", "items__tags"))


def test_without_any_key_a_merge_appends_what_is_not_to_be_deleted() -> None:
    plan = plan_chain(
        "items",
        whole(root_table(primary_key=(), hints={"deleted": {"hard_delete": True}})),
        with_rows=("items", "items__tags"),
    )

    assert {step.table: (step.commit, step.rows) for step in plan.steps} == {
        "items__parts__sizes": ("nothing", None),
        "items__parts": ("nothing", None),
        "items__tags": ("append", "kept"),
        "items": ("append", "kept"),
    }
    assert plan.sets.skipped_rows


def test_a_table_that_does_not_say_how_it_is_merged_goes_by_the_destination() -> None:
    said, silent = (
        plan_chain("items", tables(root), with_rows=("items",), default_strategy="upsert").step("items")
        for root in (root_table(strategy="delete-insert"), root_table())
    )

    assert (said.merge_kind, silent.merge_kind) == ("delete_insert", "upsert")


def test_an_upsert_updates_the_root_and_exchanges_its_children() -> None:
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


def test_insert_only_adds_what_is_not_there() -> None:
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


def test_history_ends_versions_and_adds_others_and_children_stay() -> None:
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


def test_one_column_only_says_that_rows_are_deleted() -> None:
    root = root_table(hints={"deleted": {"hard_delete": True}, "at": {"hard_delete": True}})

    with pytest.raises(SchemaCorruptedException, match="at and deleted have the hint 'hard_delete'"):
        merge_hints(root)


def test_a_column_that_has_no_type_yet_says_nothing() -> None:
    root = root_table()
    waiting = root.columns["deleted"].with_hints(hard_delete=True, data_type=None)

    assert merge_hints(root.with_columns([waiting])).hard_delete is None


def test_any_value_of_a_column_that_is_no_boolean_deletes() -> None:
    flagged = merge_hints(root_table(hints={"at": {"hard_delete": True}})).hard_delete

    assert flagged is not None
    assert flagged.sql("s") == "(`s`.`at` IS NOT NULL)"


@given(
    strategy=st.sampled_from(STRATEGIES),
    keys=st.sampled_from([(("id",), ()), ((), ("day",)), (("id",), ("day",)), (("id", "day"), ("name",))]),
    flags=st.booleans(),
    with_rows=st.sets(st.sampled_from(NESTED)),
)
def test_every_table_of_a_chain_gets_one_commit_at_most_and_nested_rows_go_with_their_root(
    strategy: str, keys: tuple[tuple[str, ...], tuple[str, ...]], flags: bool, with_rows: set[str]
) -> None:
    primary, merge = keys
    if strategy in {"upsert", "insert-only"} and not primary:
        primary = ("id",)
    hints = {"deleted": {"hard_delete": True}} if flags else {}
    root = root_table(primary_key=primary, merge_key=merge, strategy=strategy, hints=hints)

    plan = plan_chain("items", whole(root), with_rows={"items", *with_rows})

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
    said: dict[str, Any] = {RENEW: renewal} if renewal else {}
    root = root_table(disposition="merge" if strategy else disposition, strategy=strategy, **said)
    return whole(root)


@given(disposition=DISPOSITIONS, with_rows=ROWS, renewal=st.sampled_from(["table", "rows"]))
def test_a_chain_that_begins_anew_gets_what_it_would_get_if_nothing_were_there(
    disposition: str, with_rows: tuple[str, ...], renewal: str
) -> None:
    before = plan_chain("items", chain_of(disposition), with_rows=with_rows)

    plan = plan_chain("items", chain_of(disposition, renewal), with_rows=with_rows)

    at_once = {step.table: first_load_step(step).rows for step in before.steps}
    found = {step.table: step.rows for step in plan.steps}
    assert {name: "new" if at_once[name] == "new" else rows for name, rows in found.items()} == {
        name: rows for name, rows in at_once.items() if renewal == "rows" or name in with_rows
    }
    assert {step.commit for step in plan.steps} == {"recreate" if renewal == "table" else "overwrite"}
    assert not plan.sets.needs_target_table
    assert plan.sets.skipped_rows == before.sets.skipped_rows
    assert plan.hints == before.hints
    assert not plan.is_merged


@given(disposition=DISPOSITIONS, with_rows=ROWS)
def test_all_tables_of_a_chain_lose_their_rows_and_none_is_left_as_it_was(
    disposition: str, with_rows: tuple[str, ...]
) -> None:
    plan = plan_chain("items", chain_of(disposition, "rows"), with_rows=with_rows)

    assert {step.table for step in plan.steps} == {"items", *NESTED}
    assert {step.table for step in plan.steps if step.rows is None} == set(NESTED) - set(with_rows)
