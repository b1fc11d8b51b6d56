from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import NotDuringRun, ResourceNameTaken, ResourcesNotFound, UnsupportedData, UsageError
from penstock.schema import Schema
from penstock.sources import DltSource, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED: list[str] = []


@penstock.resource
def users() -> Iterator[dict[str, int]]:
    for number in range(2):
        ASKED.append("users")
        yield {"id": number}


@penstock.transformer(data_from=users)
def posts(user: dict[str, int]) -> Iterator[dict[str, int]]:
    yield {"user": user["id"], "post": 1}


@penstock.source(max_table_nesting=2)
def forum() -> Any:
    return users, posts, penstock.resource([1], name="extra", selected=False)


@pytest.fixture(autouse=True)
def _forget() -> None:
    ASKED.clear()


def test_source_schema_and_section_are_named_after_the_function() -> None:
    source = forum()

    assert (source.name, source.schema.name, source.section) == ("forum", "forum", "test_source")
    assert list(source.resources) == ["users", "posts", "extra"]
    assert list(source.selected_resources) == ["users", "posts"]


def test_a_shared_parent_is_read_once() -> None:
    items = list(forum())

    assert len(items) == 4
    assert ASKED == ["users", "users"]


def test_a_selection_is_a_copy_that_also_reads_parents() -> None:
    source = forum()

    chosen = source.with_resources("posts")

    assert list(chosen) == [{"user": 0, "post": 1}, {"user": 1, "post": 1}]
    assert list(source.selected_resources) == ["users", "posts"]
    assert [listed_resource.name for listed_resource in chosen.resources.extracted] == ["posts", "users"]
    assert chosen.resources.selected_dag == [("users", "posts"), ("users", "users")]
    with pytest.raises(ResourcesNotFound, match="forum has no resource nobody"):
        source.with_resources("users", "nobody")


def test_changes_of_a_resource_apply_to_its_source_only() -> None:
    source = forum()

    source.users.add_filter(lambda user: user["id"] == 1)

    assert list(source.with_resources("posts")) == [{"user": 1, "post": 1}]
    assert len(list(forum().with_resources("posts"))) == 2


def test_resources_can_be_added_and_detached() -> None:
    source = forum()

    source.more = penstock.resource([2], name="more")
    source.resources.add(source.users | posts.with_name("again"))
    alone = source.resources.detach("more")

    assert {"more", "again"} <= set(source.resources)
    assert (alone.name, list(alone)) == ("more", [2])
    with pytest.raises(UsageError, match="cannot be stored as"):
        source.resources["wrong"] = penstock.resource([2], name="right")
    with pytest.raises(UsageError, match="has 5 resources"):
        source.resources.detach()
    with pytest.raises(AttributeError, match="no resource 'nobody'"):
        _ = source.nobody


def test_two_resources_of_one_name_are_rejected() -> None:
    @penstock.source
    def twins() -> Any:
        return penstock.resource([1], name="same"), penstock.resource([2], name="same")

    with pytest.raises(ResourceNameTaken, match="twins has two resources named 'same'"):
        twins()


def test_a_source_can_yield_or_return_resources_and_generators() -> None:
    def rows() -> Iterator[int]:
        yield 1

    assert list(penstock.source(lambda: users, name="one")().resources) == ["users"]
    assert list(penstock.source(lambda: rows, name="two")().resources) == ["rows"]
    assert list(penstock.source(lambda: [rows(), users], name="three")().resources) == ["rows", "users"]
    assert list(penstock.source(lambda: (r for r in [users]), name="four")().resources) == ["users"]
    assert list(penstock.source(list, name="none")().resources) == []
    with pytest.raises(UnsupportedData, match="returned None instead of resources"):
        penstock.source(lambda: None, name="nothing")()


def test_options_of_a_source_are_stored_in_its_schema() -> None:
    source = penstock.source(
        lambda: users, name="strict", max_table_nesting=1, root_key=True, schema_contract="freeze"
    )()

    stored = source.schema.to_dict()
    assert stored["normalizers"]["json"]["config"] == {"max_nesting": 1, "root_key_propagation": True}
    assert stored["settings"]["schema_contract"] == "freeze"
    source.max_table_nesting = None
    assert (source.max_table_nesting, source.root_key, source.schema_contract) == (None, True, "freeze")


def test_a_factory_can_be_copied_with_other_options() -> None:
    other = forum.clone(name="club", section="elsewhere", max_table_nesting=7)

    assert (other().name, other().section, other().max_table_nesting) == ("club", "elsewhere", 7)
    assert (forum().name, forum().max_table_nesting) == ("forum", 2)
    assert forum.with_args(name="x")().name == "x"


def test_a_copy_under_another_name_has_another_schema() -> None:
    source = forum()

    copy = source.clone(with_name="archive")

    assert (copy.name, copy.schema.name, source.name) == ("archive", "archive", "forum")
    assert copy.max_table_nesting == 2


def test_a_declared_schema_is_copied_and_names_the_source(tmp_path: Path) -> None:
    given = Schema("library")
    given.update_table({"name": "books", "columns": {"id": {"data_type": "text"}}})
    path = tmp_path / "shelf.yaml"
    path.write_text(given.to_pretty_yaml(), encoding="utf-8")

    by_value = penstock.source(lambda: users, schema=given)()
    by_path = penstock.source(lambda: users, name="shelf", schema=str(path))()

    assert (by_value.name, by_path.name) == ("library", "shelf")
    assert "books" in by_value.schema.tables
    assert "books" in by_path.schema.tables
    assert by_value.schema is not given


def test_a_decomposed_source_runs_in_parts() -> None:
    source = forum()
    source.extra.selected = True

    parts = source.decompose("scc")

    assert [list(part.selected_resources) for part in parts] == [["users", "posts"], ["extra"]]
    assert source.decompose("none") == [source]


def test_the_declared_tables_are_known_before_anything_runs() -> None:
    def kind(item: Any) -> str:
        return str(item["kind"])

    source = penstock.source(
        lambda: [
            penstock.resource([1], name="a", primary_key="id"),
            penstock.resource([1], name="b", table_name=kind),
        ],
        name="looked_at",
    )()

    assert [table.name for table in source.discover_schema().data_tables(include_incomplete=True)] == ["a"]
    assert "dogs" in source.discover_schema({"kind": "dogs"}).tables
    assert "a" not in source.schema.tables


def test_a_source_function_may_be_a_coroutine() -> None:
    @penstock.source
    async def awaited() -> Any:
        return users

    coroutine: Any = awaited()
    assert list(asyncio.run(coroutine).resources) == ["users"]


def test_a_source_has_a_readable_text() -> None:
    assert str(forum()).splitlines() == [
        "penstock.source 'forum', 2 of 3 resources selected",
        "- resource users: selected",
        "- transformer posts: selected, takes items from users",
        "- resource extra: not selected",
    ]
    assert repr(forum) == "<@penstock.source 'forum'>"


def test_run_of_a_source_needs_an_active_pipeline() -> None:
    with pytest.raises(NotDuringRun):
        _ = forum().run


def test_the_names_of_dlt_are_aliases() -> None:
    assert DltSource is Source
    assert isinstance(forum(), penstock.sources.DltSource)


def test_a_resource_cannot_be_deleted_from_its_source() -> None:
    @penstock.source
    def shop() -> Any:
        return penstock.resource([1], name="orders")

    source = shop()

    with pytest.raises(UsageError, match="orders cannot be deleted from source shop"):
        del source.resources["orders"]

    assert list(source.resources) == ["orders"]


@pytest.mark.parametrize("data", [42, penstock.resource([1], name="orders")])
def test_a_source_is_declared_by_a_function(data: Any) -> None:
    with pytest.raises(UsageError, match="a source needs a function"):
        penstock.source(data)


@pytest.mark.parametrize("feeder", [[1], list])
def test_a_transformer_is_fed_by_a_resource_only(feeder: Any) -> None:
    with pytest.raises(UnsupportedData, match="a transformer takes items of a resource"):
        penstock.transformer(lambda item: item, name="details", data_from=feeder)
