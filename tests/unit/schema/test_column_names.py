from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema.column_names import NameCollision, find_key_collisions, unique_names
from penstock.schema.naming import hash_tag, naming_convention

# Few letters and many ways to write the same name, so that most draws collide.
colliding_keys = st.lists(st.text(alphabet="aA_ -b", max_size=5), max_size=12)
CONVENTIONS = st.sampled_from(("snake_case", "sql_ci_v1", "sql_cs_v1", "direct", "duck_case"))


@given(
    raw=st.one_of(colliding_keys, st.lists(st.text(max_size=30), max_size=12)),
    name=CONVENTIONS,
    limit=st.one_of(st.none(), st.integers(6, 30)),
    fold_case=st.booleans(),
)
def test_every_key_gets_a_unique_name_that_fits(
    raw: list[str], name: str, limit: int | None, fold_case: bool
) -> None:
    names = unique_names(raw, naming_convention(name, limit), fold_case=fold_case)

    given_names = [given.lower() if fold_case else given for given in names.values()]
    assert list(names) == list(dict.fromkeys(raw))
    assert len(set(given_names)) == len(names)
    assert all(0 < len(given) <= (limit or 1000) for given in names.values())


@given(raw=colliding_keys, more=colliding_keys)
def test_known_keys_keep_their_names(raw: list[str], more: list[str]) -> None:
    snake = naming_convention("snake_case")
    known_names = unique_names(raw, snake)

    names = unique_names([*more, *raw], snake, known_names=known_names)

    assert {key: names[key] for key in known_names} == known_names
    assert len(set(names.values())) == len(names)


@given(raw=colliding_keys, name=CONVENTIONS)
def test_exactly_the_keys_without_their_plain_name_are_reported(raw: list[str], name: str) -> None:
    convention = naming_convention(name)
    names = unique_names(raw, convention)

    reported = find_key_collisions(names, convention)

    plain = {names[collision.owner_key] for collision in reported}
    assert plain == {collision.plain_name for collision in reported}
    assert len(names) - len(reported) == len({convention.normalize_path(key) or "_empty" for key in names})


def test_the_first_key_gets_the_plain_name_and_the_second_a_tag_of_its_key() -> None:
    snake = naming_convention("snake_case")

    names = unique_names(["A B", "a_b", "c"], snake)

    assert names == {"A B": "a_b", "a_b": f"a_b_{hash_tag('a_b')}", "c": "c"}
    assert find_key_collisions(names, snake) == (
        NameCollision(key="a_b", plain_name="a_b", assigned_name=names["a_b"], owner_key="A B"),
    )


def test_the_tag_does_not_depend_on_other_keys() -> None:
    snake = naming_convention("snake_case")

    assert unique_names(["a-b", "a b"], snake)["a b"] == unique_names(["a-b", "a.b", "a b"], snake)["a b"]


def test_a_key_equal_to_the_tagged_name_of_another_gets_a_unique_name() -> None:
    snake = naming_convention("snake_case")
    trap = f"a_b_{hash_tag('a_b')}"

    names = unique_names([trap, "A B", "a_b"], snake)

    assert len(set(names.values())) == 3


def test_the_owner_of_a_collision_is_the_key_with_the_exact_name() -> None:
    cased = naming_convention("sql_cs_v1")

    names = unique_names(["ID", "id", "id "], cased)

    collisions = find_key_collisions(names, cased)
    assert [(collision.key, collision.owner_key) for collision in collisions] == [("id ", "id")]


@pytest.mark.parametrize("nameless", ["", " ", "__"])
def test_a_blank_key_is_named_empty(nameless: str) -> None:
    assert unique_names([nameless], naming_convention("snake_case")) == {nameless: "_empty"}


def test_case_is_folded_only_for_destinations_that_ignore_it() -> None:
    cased = naming_convention("sql_cs_v1")

    assert unique_names(["ID", "id"], cased) == {"ID": "ID", "id": "id"}
    folded = unique_names(["ID", "id"], cased, fold_case=True)
    assert folded == {"ID": "ID", "id": f"id_{hash_tag('id')}"}
    assert [collision.owner_key for collision in find_key_collisions(folded, cased)] == ["ID"]
