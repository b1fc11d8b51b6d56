from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import ResourceUnbound, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@penstock.resource
def words() -> Iterator[str]:
    yield from ["ant", "bee"]


@penstock.transformer
def letters(word: str, repeat: int = 1) -> Iterator[str]:
    yield from list(word) * repeat


@penstock.transformer
def counted(item: Any, meta: Any = None) -> dict[str, Any]:
    return {"item": item, "table": getattr(meta, "table_name", None)}


def test_items_are_piped_and_arguments_bound() -> None:
    assert list(words | letters) == list("antbee")
    assert list(words | letters(repeat=2)) == list("antantbeebee")
    assert list(["x"] | letters) == ["x"]


def test_piping_makes_a_copy_so_that_one_transformer_can_be_used_twice() -> None:
    once = words | letters
    twice = words | letters | letters

    assert letters.parent is None
    assert (list(once), list(twice)) == (list("antbee"), list("antbee"))
    with pytest.raises(ResourceUnbound, match="the resource that feeds it"):
        list(letters)


def test_a_transformer_piped_twice_from_one_resource_is_called_once_in_a_source() -> None:
    calls = []

    @penstock.transformer
    def doubled(word: str) -> Iterator[str]:
        calls.append(word)
        yield word * 2

    @penstock.source
    def two_ends() -> Any:
        return words | doubled, words | doubled | letters

    source = two_ends()

    assert sorted(source) == sorted(["antant", "beebee", *"antantbeebee"])
    assert calls == ["ant", "bee"]


def test_transformers_that_were_changed_apart_are_called_apart() -> None:
    @penstock.source
    def two_ends() -> Any:
        return words | letters, (words | letters(repeat=2)).with_name("twice")

    assert sorted(two_ends()) == sorted("antbee" + "antantbeebee")


def test_a_transformer_can_take_the_mark_of_an_item() -> None:
    def marked() -> Iterator[Any]:
        yield penstock.mark.with_table_name(1, "t")
        yield 2

    items = list(penstock.resource(marked, name="m") | counted)

    assert items == [{"item": 1, "table": "t"}, {"item": 2, "table": None}]


def test_a_step_before_a_transformer_changes_what_it_gets() -> None:
    upper = letters().add_map(str.upper, insert_at=0).add_map(lambda letter: letter + "!")

    assert list(words | upper) == [letter + "!" for letter in "ANTBEE"]


def test_a_transformer_without_an_item_is_rejected() -> None:
    with pytest.raises(UsageError, match="takes no item"):

        @penstock.transformer
        def nothing() -> int:
            return 1

    with pytest.raises(UsageError, match="needs a function, not data"):
        penstock.transformer([1], name="t")  # type: ignore[call-overload]


def test_a_transformer_cannot_feed_itself() -> None:
    fed = words | letters

    with pytest.raises(UsageError, match="cannot feed itself"):
        fed.pipe_data_from(fed)
    with pytest.raises(UsageError, match="is not a transformer"):
        words().pipe_data_from(fed)


def test_only_the_limit_of_the_feeding_resource_applies_to_a_transformer() -> None:
    assert list((words | letters).add_limit(1)) == list("antbee")
    assert list(words().add_limit(1) | letters) == list("ant")
