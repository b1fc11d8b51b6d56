from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.unit.destinations.chains import nested_table, root_table

from penstock.destinations.lake.hints import merge_hints
from penstock.destinations.lake.key_ranges import (
    KeyRange,
    KeyRangeQuery,
    key_range_queries,
    pruning_condition,
)
from penstock.destinations.lake.merge_sets import MergeSets, StoredSet, publish_sets, read_sets
from penstock.destinations.lake.merge_statement import MergeStatement
from penstock.destinations.lake.plan import plan_chain
from penstock.package.storage import FileStorage
from penstock.schema import Table

COLUMNS = ("id", "name", "deleted", "_dlt_id")


def merge_of(root: Table, *, target_columns: tuple[str, ...] = COLUMNS) -> str:
    plan = plan_chain("items", {"items": root}, with_rows=("items",))
    assert plan.hints is not None
    merge = MergeStatement(
        step=plan.steps[0], hints=plan.hints, columns=COLUMNS, target_columns=frozenset(target_columns)
    )
    return merge.sql(target="`delta`.`x`", source="`src`")


def test_a_delete_insert_deletes_superseded_rows_and_inserts_rows() -> None:
    assert merge_of(root_table()).splitlines() == [
        "MERGE INTO `delta`.`x` AS `t`",
        "USING `src` AS `s`",
        "ON `s`.`_penstock_op` = 'mark' AND `t`.`id` = `s`.`id`",
        "WHEN MATCHED THEN DELETE",
        (
            "WHEN NOT MATCHED AND `s`.`_penstock_op` = 'row' THEN INSERT (`id`, `name`, `deleted`, `_dlt_id`)"
            " VALUES (`s`.`id`, `s`.`name`, `s`.`deleted`, `s`.`_dlt_id`)"
        ),
    ]


def test_an_upsert_deletes_flagged_rows_and_never_inserts_them() -> None:
    text = merge_of(root_table(strategy="upsert", hints={"deleted": {"hard_delete": True}}))

    assert "WHEN MATCHED AND (`s`.`deleted` IS NOT NULL AND `s`.`deleted`) THEN DELETE" in text
    assert "WHEN NOT MATCHED AND NOT (`s`.`deleted` IS NOT NULL AND `s`.`deleted`) THEN INSERT" in text


def test_insert_only_has_a_single_insert_clause() -> None:
    text = merge_of(root_table(strategy="insert-only"))

    assert "WHEN MATCHED" not in text
    assert "WHEN NOT MATCHED THEN INSERT" in text


@pytest.mark.parametrize(
    ("until", "condition"),
    [
        (None, "`t`.`_dlt_valid_to` IS NULL"),
        (
            "9999-12-31",
            "(`t`.`_dlt_valid_to` IS NULL OR `t`.`_dlt_valid_to` = CAST('9999-12-31' AS TIMESTAMP))",
        ),
    ],
)
def test_only_an_active_version_ends(until: str | None, condition: str) -> None:
    root = root_table(strategy="scd2", hints={"_dlt_valid_to": {"x-active-record-timestamp": until}})
    plan = plan_chain("items", {"items": root}, with_rows=("items",))
    assert plan.hints is not None

    merge = MergeStatement(
        step=plan.steps[0],
        hints=plan.hints,
        columns=COLUMNS,
        target_columns=frozenset((*COLUMNS, "_dlt_valid_to")),
    )

    text = merge.sql(target="`x`", source="`s`")
    assert f"`t`.`_dlt_id` = `s`.`_dlt_id` AND {condition}" in text
    assert "WHEN MATCHED THEN UPDATE SET `_dlt_valid_to` = `s`.`_dlt_valid_to`" in text


def test_missing_columns_are_added_by_the_same_commit() -> None:
    text = merge_of(root_table(), target_columns=("id",))

    assert text.startswith("MERGE WITH SCHEMA EVOLUTION INTO")


def test_a_nested_table_without_rows_is_only_deleted_from() -> None:
    schema = {table.name: table for table in (root_table(), nested_table("items__tags"))}
    plan = plan_chain("items", schema, with_rows=("items",))
    assert plan.hints is not None

    merge = MergeStatement(
        step=plan.step("items__tags"), hints=plan.hints, columns=(), target_columns=("_dlt_root_id",)
    )

    assert "INSERT" not in merge.sql(target="`x`", source="`s`")


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=5, unique=True))
def test_names_with_any_characters_are_quoted(names: list[str]) -> None:
    root = Table.from_dict(
        {
            "name": "items",
            "write_disposition": "merge",
            "columns": {name: {"data_type": "text", "primary_key": True} for name in names[:1]}
            | {name: {"data_type": "text"} for name in names[1:]},
        }
    )
    plan = plan_chain("items", {"items": root}, with_rows=("items",))
    assert plan.hints is not None

    merge = MergeStatement(
        step=plan.steps[0],
        hints=plan.hints,
        columns=names,
        target_columns=frozenset(names),
        pruning_condition=KeyRange(column=names[0], sql_type="STRING", low=names[0], high=names[1]).sql("t"),
    )

    parsed = sqlglot.parse_one(merge.sql(target="`delta`.`x`", source="`src`"), dialect="spark")
    assert isinstance(parsed, exp.Merge)
    inserted = parsed.find(exp.Insert)
    assert inserted is not None
    assert [column.name for column in inserted.this.expressions] == names


def test_a_range_has_all_values_of_a_partition_column_or_the_bounds() -> None:
    day = KeyRange(column="day", sql_type="DATE", values=("2024-01-01", "2024-01-02"))
    number = KeyRange(column="id", sql_type="BIGINT", low="1", high="9")

    assert pruning_condition([day, number], [("day", "id")], "t") == (
        "(`t`.`day` IN (CAST('2024-01-01' AS DATE), CAST('2024-01-02' AS DATE))) AND "
        "(`t`.`id` >= CAST('1' AS BIGINT) AND `t`.`id` <= CAST('9' AS BIGINT))"
    )


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=300), min_size=1, max_size=6))
def test_bounds_hold_for_every_key_and_stay_short(keys: list[str]) -> None:
    query = KeyRangeQuery(column="key", sql_type="STRING", is_partition=True)
    ordered = sorted(keys, key=str.encode)

    key_range = query.to_range(ordered[0], ordered[-1], ordered)

    low, high = key_range.low, key_range.high
    assert low is not None
    assert all(low.encode() <= key.encode() for key in keys)
    assert high is None or all(key.encode() <= high.encode() for key in keys)
    assert key_range.values is None or set(keys) == set(key_range.values)
    assert len(key_range.sql("t") or "") < 6 * 1_000


def test_two_keys_are_alternatives_and_an_unbounded_one_allows_any_row() -> None:
    number = KeyRange(column="id", sql_type="BIGINT", low="1", high="9")
    day = KeyRange(column="day", sql_type="DATE", low="2024-01-01", high="2024-01-02")

    condition = pruning_condition([number, day], [("id",), ("day",)], "t")
    assert condition is not None
    assert " OR " in condition
    assert pruning_condition([number], [("id",), ("day",)], "t") is None
    assert pruning_condition([], [], "t") is None


def test_a_nested_row_older_than_the_root_key_is_matched_by_its_parent_key() -> None:
    schema = {table.name: table for table in (root_table(), nested_table("items__tags"))}
    plan = plan_chain("items", schema, with_rows=("items",))
    assert plan.hints is not None

    def on(*columns: str) -> str:
        step = plan.step("items__tags")
        merge = MergeStatement(
            step=step, hints=plan.hints or merge_hints(root_table()), columns=(), target_columns=columns
        )
        return merge.sql(target="`x`", source="`s`").splitlines()[2]

    assert on("_dlt_root_id", "_dlt_parent_id") == (
        "ON `s`.`_penstock_op` = 'mark' AND "
        "coalesce(`t`.`_dlt_root_id`, `t`.`_dlt_parent_id`) = `s`.`_dlt_root_id`"
    )
    assert on("_dlt_parent_id").endswith("`t`.`_dlt_parent_id` = `s`.`_dlt_root_id`")


def test_only_key_columns_prune_files() -> None:
    root = root_table(primary_key=("id", "deleted"), merge_key=("day",), hints={"day": {"partition": True}})

    queries = key_range_queries(root, merge_hints(root).key_sets)

    assert [(query.column, query.is_partition, len(query.aggregates())) for query in queries] == [
        ("id", False, 2),
        ("day", True, 3),
    ]


def test_merge_sets_are_published_once(tmp_path: object) -> None:
    store = FileStorage(str(tmp_path))
    first = MergeSets(
        sets={
            "gone": StoredSet(path="data/merge/items/a/gone", columns="x STRING", rows=3),
            "left_out": StoredSet(path="b", columns="x STRING", rows=0),
        },
        ranges=(KeyRange(column="day", sql_type="DATE", low="1", high="2", values=("1", "2")),),
    )

    assert read_sets(store, "items") is None
    assert publish_sets(store, "items", first) == first
    assert publish_sets(store, "items", MergeSets(sets={})) == first
    assert first.find("gone") == StoredSet(path="data/merge/items/a/gone", columns="x STRING", rows=3)
    assert first.find("left_out") is None
    assert first.find("retired") is None
