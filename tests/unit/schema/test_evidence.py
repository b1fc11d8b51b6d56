from __future__ import annotations

import copy
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.schema import (
    EACH,
    Evidence,
    Schema,
    StoredSchema,
    decide,
    gather,
    merge_evidence,
    parse_path,
    path_text,
)
from penstock.schema.evidence import walk_values
from penstock.schema.layout import canonical_row_and_keys

EMPTY = Schema("shop").stored

keys = st.sampled_from(
    ["id", "userId", "user_id", "a", "b", "A", "list", "value", "", "日本", "a__b", "x" * 80]
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.dates(),
    st.sampled_from(["5", "3.5", "2024-01-02T03:04Z", "true", "{}"]), st.decimals(places=2, allow_nan=False),
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
rows = st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=5)


def schema_after(batches: list[list[Any]]) -> StoredSchema:
    stored = EMPTY
    for batch in batches:
        stored = decide(stored, "t", gather(batch)).schema
    return stored


def base_columns(stored: StoredSchema) -> dict[str, set[str]]:
    return {
        table.name: {name for name, column in table.columns.items() if not column.has("variant")}
        for table in stored.tables.values()
    }


@given(st.lists(st.one_of(st.text(), st.just(EACH))))
def test_a_path_with_any_keys_reads_back_from_its_text(steps: list[Any]) -> None:
    path = tuple(steps)

    assert parse_path(path_text(path)) == path
    assert path_text(path).isascii()


def test_evidence_has_path_type_count_and_first_position() -> None:
    evidence = gather([{"a": "abcde", "l": [{"b": 1}, 5]}, {"a": "abc"}], start=7)

    assert {(e.path, e.type, e.count, e.first) for e in evidence} == {
        ((), "object", 2, (7, 0)),
        (("a",), "text", 2, (7, 1)),
        (("l",), "list", 1, (7, 2)),
        (("l", EACH), "object", 1, (7, 0, 0)),
        (("l", EACH, "b"), "bigint", 1, (7, 0, 1)),
        (("l", EACH), "bigint", 1, (7, 1, 0)),
    }
    assert next((e.longest, e.examples) for e in evidence if e.path == ("a",)) == (5, ("abcde", "abc"))


@given(rows)
def test_evidence_of_parts_merges_to_the_evidence_of_all_rows(batch: list[Any]) -> None:
    half = len(batch) // 2
    parts = [*gather(batch[half:], start=half), *gather(batch[:half])]

    assert set(merge_evidence(parts)) == set(gather(batch))
    assert merge_evidence(merge_evidence(parts)) == merge_evidence(parts)


def test_very_deep_rows_have_evidence() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep} if _ % 2 else [deep]

    assert len(list(walk_values({"x": deep}, 0))) > 5_000


def test_values_kept_as_json_are_not_entered() -> None:
    evidence = gather([{"m": {"k": 1}, "l": [{"q": 2}]}], json_paths={("m",), ("l",)})

    assert {e.path for e in evidence} == {(), ("m",), ("l",)}


@given(rows)
def test_the_same_batch_again_changes_nothing(batch: list[Any]) -> None:
    once = schema_after([batch])

    assert decide(once, "t", gather(batch)).schema is once


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_only_variants(batch: list[Any], random: Any) -> None:
    shuffled = copy.copy(batch)
    random.shuffle(shuffled)
    first, second = (decide(EMPTY, "t", gather(order)) for order in (batch, shuffled))

    # Which of two colliding keys gets the tag depends on the order of rows; the number of columns does not.
    assert {n: len(c) for n, c in tables_by_width(first).items()} == {
        n: len(c) for n, c in tables_by_width(second).items()
    }
    if not first.collisions:
        assert base_columns(first.schema) == base_columns(second.schema)


def tables_by_width(decision: Any) -> dict[int, set[str]]:
    by_width: dict[int, set[str]] = {}
    for table, columns in base_columns(decision.schema).items():
        by_width.setdefault(len(columns), set()).add(table)
    return by_width


@given(rows, rows)
def test_every_name_is_unique_and_every_value_has_a_rule_for_an_existing_column(
    first: list[Any], second: list[Any]
) -> None:
    stored = schema_after([first])
    evidence = gather(second)
    decision = decide(stored, "t", evidence)

    for value in evidence:
        rule = decision.rules.get((value.path, value.type))
        if rule is None:
            assert value.type == "object"  # a row
        elif rule.action in ("keep", "convert", "json"):
            assert rule.column in decision.schema.tables[rule.table].columns
    owners: dict[tuple[str, str | None], set[Any]] = {}
    for (path, kind), rule in decision.rules.items():
        if rule.action in ("keep", "convert", "json"):
            # Elements are stored under the key `value`: `[1, {"value": 2}]` is one column in dlt too.
            owners.setdefault((rule.table, rule.column), set()).add(
                canonical_row_and_keys(path, is_list=kind == "list")
            )
    assert all(len(paths) == 1 for paths in owners.values()), owners


@given(rows)
def test_a_decision_can_be_pickled_and_its_schema_reads_back_equal(batch: list[Any]) -> None:
    decision = decide(EMPTY, "t", gather(batch))
    schema = Schema("shop")
    schema.update(decision.schema)

    assert pickle.loads(pickle.dumps(decision)).rules == decision.rules
    assert Schema.from_text(schema.to_pretty_yaml()).to_dict() == schema.to_dict()
    assert Schema.from_text(schema.to_pretty_json()).to_dict() == schema.to_dict()


def test_evidence_without_fits_gets_a_variant() -> None:
    stored = schema_after([[{"x": 1}]])

    decision = decide(stored, "t", [Evidence(path=("x",), type="text", count=3)])

    assert decision.rule(("x",), "text").column == "x__v_text"
