from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.normalize.kinds import Seen
from penstock.normalize.plan import RootHints, TablePlan, plan_tables
from penstock.normalize.shape import group_of
from penstock.normalize.tree import Leaf, ListOf, Node, Object, parse_tree
from penstock.package.projection import ListStep
from penstock.schema import Column, Schema, Table, naming, unique_names
from penstock.schema.shorten import tag_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.normalize.plan import SeenByPath

HINTS = RootHints(table="t", resource="items", write_disposition="append", extras={"table_format": "delta"})
SYSTEM = {"_dlt_id", "_dlt_load_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_root_id"}
keys = st.text(max_size=8) | st.text("aAbB_ -", max_size=4) | st.sampled_from(sorted(SYSTEM))
long_keys = st.text("abcdefghij", min_size=20, max_size=40)
leaves = st.sampled_from([Leaf(kind) for kind in ("bool", "bigint", "double", "text", "mixed", "wide")])


def objects(inner: st.SearchStrategy[Node], names: st.SearchStrategy[str] = keys) -> st.SearchStrategy[Node]:
    return st.dictionaries(names, inner, max_size=6).map(lambda fields: Object(tuple(fields.items())))


def plan(
    tree: str | Node,
    seen: SeenByPath | None = None,
    *,
    stored: Mapping[str, Table] | None = None,
    limit: int | None = None,
) -> list[TablePlan]:
    names = naming("snake_case", limit)
    node = parse_tree(tree) if isinstance(tree, str) else tree
    root = group_of(node, lambda raw: unique_names(raw, names, fold_case=True))
    return plan_tables(root, HINTS, seen or {}, stored=stored or {}, naming=names)


def stored_after(plans: list[TablePlan], before: Schema | None = None) -> Schema:
    schema = before.clone() if before else Schema("shop")
    for found in plans:
        schema.update_table(found.table)
    return schema


def columns(found: TablePlan) -> dict[str, Any]:
    return {name: column.data_type for name, column in found.table.columns.items()}


def outputs(found: TablePlan) -> list[str]:
    return [column.name for column in found.projection.columns]


def test_a_root_table_has_its_data_then_its_system_columns() -> None:
    (root,) = plan("OBJECT<id: BIGINT, seller: OBJECT<City: STRING>>")

    assert columns(root) == {
        "id": "bigint",
        "seller__city": "text",
        "_dlt_load_id": "text",
        "_dlt_id": "text",
    }
    assert list(root.table.columns) == ["id", "seller__city", "_dlt_load_id", "_dlt_id"]
    assert [column.path for column in root.projection.columns] == [("id",), ("seller", "city")]
    assert root.projection.steps == ()
    assert root.table.to_dict()["resource"] == "items"
    assert root.table.extras["table_format"] == "delta"
    assert root.table.has_seen_data


def test_a_list_is_a_child_table_that_points_to_its_parent() -> None:
    root, child = plan("OBJECT<id: BIGINT, Parts: ARRAY<OBJECT<sku: STRING>>>")

    assert (child.table.name, child.table.parent) == ("t__parts", "t")
    assert columns(child) == {
        "sku": "text",
        "_dlt_parent_id": "text",
        "_dlt_list_idx": "bigint",
        "_dlt_id": "text",
    }
    assert child.projection.steps == (ListStep(path=("parts",), table="t__parts"),)
    assert child.table.write_disposition is None
    assert outputs(root) == ["id"]


def test_a_list_of_plain_values_has_a_column_called_value() -> None:
    _, child = plan("OBJECT<tags: ARRAY<STRING>>")

    assert [(column.name, column.path) for column in child.projection.columns] == [("value", ())]


def test_a_list_of_lists_is_a_table_below_a_table() -> None:
    _, outer, inner = plan("OBJECT<m: ARRAY<ARRAY<BIGINT>>>")

    assert [outer.table.name, inner.table.name] == ["t__m", "t__m__list"]
    assert inner.table.parent == "t__m"
    assert inner.projection.steps == (
        ListStep(path=("m",), table="t__m"),
        ListStep(path=(), table="t__m__list"),
    )
    assert outputs(outer) == []


def test_what_was_seen_of_a_path_decides_its_column() -> None:
    seen: SeenByPath = {((), ("at",)): Seen.TIMESTAMP, ((), ("l",), ("at",)): Seen.DATE | Seen.TAGGED}

    root, child = plan("OBJECT<at: STRING, l: ARRAY<OBJECT<at: STRING>>>", seen)

    assert (columns(root)["at"], columns(child)["at"]) == ("timestamp", "date")
    assert root.projection.columns[0].sql_type == "TIMESTAMP"
    assert (child.projection.columns[0].conversion, child.projection.columns[0].tagged) == ("parse", True)


@given(tree=objects(leaves))
def test_every_key_of_a_row_keeps_a_column_of_its_own(tree: Object) -> None:
    (root,) = plan(tree)

    names = outputs(root)
    assert len(names) == len(tree.fields)
    assert len(set(names)) == len(names)
    assert not SYSTEM & set(names)
    assert set(root.table.columns) == {*names, "_dlt_load_id", "_dlt_id"}


@given(tree=objects(leaves | objects(leaves, keys | long_keys), keys | long_keys), limit=st.integers(20, 40))
def test_every_column_fits(tree: Object, limit: int) -> None:
    (root,) = plan(tree, limit=limit)

    assert all(0 < len(name) <= limit for name in root.table.columns)


@given(tree=objects(leaves | st.builds(ListOf, leaves), long_keys), limit=st.integers(20, 40))
def test_every_table_fits(tree: Object, limit: int) -> None:
    plans = plan(tree, limit=limit)

    assert all(0 < len(found.table.name) <= limit for found in plans)
    assert len({found.table.name for found in plans}) == len(plans)


def test_a_users_key_does_not_take_a_system_columns_name() -> None:
    (root,) = plan("OBJECT<_dlt_id: BIGINT, _dlt_load_id: STRING, `_dlt_root_id`: BOOLEAN>")

    assert outputs(root) == [
        f"_dlt_id_{tag_of('_dlt_id')}",
        f"_dlt_load_id_{tag_of('_dlt_load_id')}",
        f"_dlt_root_id_{tag_of('_dlt_root_id')}",
    ]
    assert columns(root)["_dlt_id"] == "text"
    assert columns(root)["_dlt_load_id"] == "text"


def test_keys_that_meet_in_one_name_by_different_ways_are_all_kept() -> None:
    (root,) = plan("OBJECT<A: OBJECT<b: BIGINT>, a: OBJECT<b: BIGINT>, a__b: BIGINT>")

    assert outputs(root)[0] == "a__b"
    assert len(set(outputs(root))) == 3


def test_lists_that_meet_in_one_name_are_tables_of_their_own() -> None:
    plans = plan("OBJECT<Tags: ARRAY<BIGINT>, tags: ARRAY<BIGINT>>")

    assert len({found.table.name for found in plans}) == 3


def test_a_list_in_an_object_and_a_list_with_the_joined_name_are_tables_of_their_own() -> None:
    plans = plan("OBJECT<a: OBJECT<b: ARRAY<BIGINT>>, a__b: ARRAY<BIGINT>>")

    assert len({found.table.name for found in plans}) == 3


@given(tree=objects(leaves | objects(leaves) | st.builds(ListOf, leaves), st.text("aA_b", max_size=4)))
def test_no_two_tables_and_no_two_columns_of_one_share_a_name(tree: Object) -> None:
    plans = plan(tree)

    assert len({found.table.name for found in plans}) == len(plans)
    assert all(len(set(outputs(found))) == len(outputs(found)) for found in plans)
    assert {step.table for found in plans for step in found.projection.steps} == {
        found.table.name for found in plans[1:]
    }


def known(**types: Any) -> dict[str, Table]:
    made = {name: Column(name=name, data_type=kind, nullable=True) for name, kind in types.items()}
    return {"t": Table(name="t", columns=made, resource="items", write_disposition="append")}


def test_a_stored_column_keeps_its_type_and_its_place() -> None:
    (root,) = plan("OBJECT<new: BIGINT, b: BIGINT, a: STRING>", stored=known(a="text", b="double"))

    assert list(root.table.columns)[:3] == ["a", "b", "new"]
    assert (columns(root)["a"], columns(root)["b"]) == ("text", "double")
    assert [(column.name, column.sql_type) for column in root.projection.columns] == [
        ("new", "BIGINT"),
        ("b", "DOUBLE"),
        ("a", "STRING"),
    ]


def test_values_that_do_not_fit_a_stored_column_go_beside_it() -> None:
    (root,) = plan("OBJECT<a: STRING>", stored=known(a="bigint"))

    assert columns(root)["a"] == "bigint"
    assert columns(root)["a__v_text"] == "text"
    assert root.table.columns["a__v_text"].has("variant")
    assert outputs(root) == ["a__v_text"]


def test_a_variant_column_is_made_once() -> None:
    first = stored_after(plan("OBJECT<a: BIGINT>"))
    second = stored_after(plan("OBJECT<a: STRING>", stored=first.tables), first)

    third = stored_after(plan("OBJECT<a: STRING>", stored=second.tables), second)

    assert list(third.tables["t"].columns) == ["a", "_dlt_load_id", "_dlt_id", "a__v_text"]
    assert third.version_hash == second.version_hash


def test_a_variant_does_not_take_the_name_of_another_key() -> None:
    (root,) = plan("OBJECT<a__v_text: STRING, a: STRING>", stored=known(a="bigint"))

    assert outputs(root)[0] == "a__v_text"
    assert len(set(outputs(root))) == 2


def test_a_key_keeps_its_column_although_a_variant_before_it_would_have_its_name() -> None:
    stored = known(a="bigint", a__v_text="text")

    (root,) = plan("OBJECT<a: STRING, a__v_text: STRING>", stored=stored)

    assert [column.name for column in root.projection.columns if column.path == ("a__v_text",)] == [
        "a__v_text"
    ]


def test_a_variant_does_not_go_into_a_column_that_would_lose_its_values() -> None:
    (root,) = plan("OBJECT<a: STRING>", stored=known(a="bigint", a__v_text="bool"))

    (name,) = outputs(root)
    assert name not in ("a", "a__v_text")
    assert (columns(root)[name], columns(root)["a__v_text"]) == ("text", "bool")
    assert root.table.columns[name].has("variant")


def test_decimals_of_different_digits_are_variants_of_their_own_and_find_them_again() -> None:
    schema = stored_after(plan("OBJECT<n: BIGINT>"))
    loads: list[tuple[str, SeenByPath]] = [
        ("OBJECT<n: STRING>", {((), ("n",)): Seen.DECIMAL | Seen.TAGGED}),
        ("OBJECT<n: DECIMAL(38,0)>", {((), ("n",)): Seen.LARGE}),
    ]
    used: list[tuple[str, str]] = []

    for tree, seen in loads * 2:
        (root,) = plan(tree, seen, stored=schema.tables)
        schema = stored_after([root], schema)
        used += [(column.name, column.sql_type) for column in root.projection.columns]

    assert used[:2] == used[2:]
    assert len({name for name, _ in used}) == 2
    assert [sql_type for _, sql_type in used[:2]] == ["DECIMAL(38,9)", "DECIMAL(38,0)"]


def test_whole_numbers_and_decimals_together_are_a_decimal_column() -> None:
    (root,) = plan("OBJECT<n: VARIANT>", {((), ("n",)): Seen.WHOLE | Seen.DECIMAL})

    (column,) = root.projection.columns
    assert (column.name, column.sql_type, column.conversion) == ("n", "DECIMAL(38,9)", "number")


def test_a_fraction_is_not_rounded_into_a_column_of_whole_numbers() -> None:
    whole = Column(name="n", data_type="decimal", nullable=True, precision=38, scale=0)
    stored = {"t": Table(name="t", columns={"n": whole}, resource="items", write_disposition="append")}

    (root,) = plan("OBJECT<n: STRING>", {((), ("n",)): Seen.DECIMAL | Seen.TAGGED}, stored=stored)

    assert root.projection.columns[0].sql_type != "DECIMAL(38,0)"


def test_a_number_of_38_digits_does_not_go_into_a_column_with_room_for_29() -> None:
    (root,) = plan("OBJECT<n: DECIMAL(38,0)>", {((), ("n",)): Seen.LARGE}, stored=known(n="decimal"))

    assert root.projection.columns[0].sql_type != "DECIMAL(38,9)"


def test_a_column_that_was_waiting_for_its_type_keeps_its_hints() -> None:
    waiting = Column(name="id", nullable=False, hints={"primary_key": True})
    stored = {"t": Table(name="t", columns={"id": waiting}, resource="items", write_disposition="append")}

    (root,) = plan("OBJECT<id: BIGINT>", stored=stored)

    assert columns(root)["id"] == "bigint"
    assert root.table.columns["id"].has("primary_key")


def test_a_column_that_was_waiting_for_its_type_still_refuses_nulls() -> None:
    waiting = Column(name="id", nullable=False)
    stored = {"t": Table(name="t", columns={"id": waiting}, resource="items", write_disposition="append")}

    (root,) = plan("OBJECT<id: BIGINT>", stored=stored)

    assert not root.table.columns["id"].nullable


def test_a_fraction_is_not_rounded_into_a_column_that_was_waiting_with_fewer_digits() -> None:
    waiting = Column(name="n", nullable=True, precision=5, scale=2)
    stored = {"t": Table(name="t", columns={"n": waiting}, resource="items", write_disposition="append")}

    (root,) = plan("OBJECT<n: STRING>", {((), ("n",)): Seen.DECIMAL | Seen.TAGGED}, stored=stored)

    assert root.projection.columns[0].sql_type != "DECIMAL(5,2)"


def test_what_a_stored_table_says_of_itself_stays() -> None:
    stored = {name: table.with_extras(description="mine") for name, table in known(a="bigint").items()}

    (root,) = plan("OBJECT<a: BIGINT>", stored=stored)

    assert root.table.extras["description"] == "mine"


nested: st.SearchStrategy[Node] = objects(
    leaves | objects(leaves) | st.builds(ListOf, leaves | objects(leaves)),
    st.text("abcd", min_size=1, max_size=3),
)


@given(tree=nested)
def test_planning_again_with_the_result_stored_changes_nothing(tree: Object) -> None:
    first = plan(tree)
    schema = stored_after(first)

    again = plan(tree, stored=schema.tables)

    assert stored_after(again, schema).version_hash == schema.version_hash
    assert [found.projection for found in again] == [found.projection for found in first]


@given(tree=nested, other=nested)
def test_columns_that_are_stored_never_change_their_type(tree: Object, other: Object) -> None:
    first = plan(tree)
    schema = stored_after(first)

    after = plan(other, stored=schema.tables)

    for found in after:
        before = schema.tables.get(found.table.name, Table(name=found.table.name))
        kept = {name: column for name, column in found.table.columns.items() if name in before.columns}
        assert kept == dict(before.columns)
        assert list(found.table.columns)[: len(before.columns)] == list(before.columns)


def test_a_root_table_cannot_become_a_nested_one() -> None:
    schema = stored_after(plan("OBJECT<a: BIGINT>"))
    schema.update_table(Table(name="t__l"))

    with pytest.raises(Exception, match="belongs to None and cannot be given to 't'"):
        plan("OBJECT<l: ARRAY<BIGINT>>", stored=schema.tables)
