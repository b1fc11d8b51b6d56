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


def decided(batches: list[list[Any]]) -> StoredSchema:
    stored = EMPTY
    for batch in batches:
        stored = decide(stored, "t", gather(batch)).schema
    return stored


def names(stored: StoredSchema) -> dict[str, set[str]]:
    return {
        table.name: {name for name, column in table.columns.items() if not column.has("variant")}
        for table in stored.tables.values()
    }


@given(st.lists(st.one_of(st.text(), st.just(EACH))))
def test_a_path_reads_back_from_its_text_whatever_its_keys_are(steps: list[Any]) -> None:
    path = tuple(steps)

    assert parse_path(path_text(path)) == path
    assert path_text(path).isascii()


def test_the_evidence_says_where_what_was_seen_how_often() -> None:
    found = gather([{"a": "abcde", "l": [{"b": 1}, 5]}, {"a": "abc"}], start=7)

    assert {(e.path, e.type, e.count, e.first) for e in found} == {
        ((), "object", 2, (7, 0)),
        (("a",), "text", 2, (7, 1)),
        (("l",), "list", 1, (7, 2)),
        (("l", EACH), "object", 1, (7, 0, 0)),
        (("l", EACH, "b"), "bigint", 1, (7, 0, 1)),
        (("l", EACH), "bigint", 1, (7, 1, 0)),
    }
    assert next((e.longest, e.examples) for e in found if e.path == ("a",)) == (5, ("abcde", "abc"))


@given(rows)
def test_evidence_of_parts_adds_up_to_the_evidence_of_the_whole(batch: list[Any]) -> None:
    half = len(batch) // 2
    parts = [*gather(batch[half:], start=half), *gather(batch[:half])]

    assert set(merge_evidence(parts)) == set(gather(batch))
    assert merge_evidence(merge_evidence(parts)) == merge_evidence(parts)


def test_depth_is_no_limit() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"a": deep} if _ % 2 else [deep]

    assert len(list(walk_values({"x": deep}, 0))) > 5_000


def test_what_is_kept_whole_is_not_entered() -> None:
    found = gather([{"m": {"k": 1}, "l": [{"q": 2}]}], json_paths={("m",), ("l",)})

    assert {e.path for e in found} == {(), ("m",), ("l",)}


@given(rows)
def test_the_same_batch_again_changes_nothing(batch: list[Any]) -> None:
    once = decided([batch])

    assert decide(once, "t", gather(batch)).schema is once


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_neither_tables_nor_columns_but_variants(
    batch: list[Any], random: Any
) -> None:
    shuffled = copy.copy(batch)
    random.shuffle(shuffled)
    first, second = (decide(EMPTY, "t", gather(order)) for order in (batch, shuffled))

    # Whose name gets the tag when two keys meet depends on who came first; how many there are does not.
    assert {n: len(c) for n, c in _counted(first).items()} == {n: len(c) for n, c in _counted(second).items()}
    if not first.collisions:
        assert names(first.schema) == names(second.schema)


def _counted(decision: Any) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for table, columns in names(decision.schema).items():
        found.setdefault(len(columns), set()).add(table)
    return found


@given(rows, rows)
def test_every_name_is_unique_and_every_value_has_a_rule_that_leads_somewhere(
    first: list[Any], second: list[Any]
) -> None:
    stored = decided([first])
    evidence = gather(second)
    decision = decide(stored, "t", evidence)

    for one in evidence:
        rule = decision.rules.get((one.path, one.type))
        if rule is None:
            assert one.type == "object"  # a row
        elif rule.action in ("keep", "convert", "json"):
            assert rule.column in decision.schema.tables[rule.table].columns
    owners: dict[tuple[str, str | None], set[Any]] = {}
    for (path, kind), rule in decision.rules.items():
        if rule.action in ("keep", "convert", "json"):
            # An element and the key it is stored under are one: `[1, {"value": 2}]` is one column in dlt too.
            owners.setdefault((rule.table, rule.column), set()).add(
                canonical_row_and_keys(path, is_list=kind == "list")
            )
    assert all(len(paths) == 1 for paths in owners.values()), owners


@given(rows)
def test_a_decision_is_a_value_and_its_schema_reads_back_equal(batch: list[Any]) -> None:
    decision = decide(EMPTY, "t", gather(batch))
    schema = Schema("shop")
    schema.update(decision.schema)

    assert pickle.loads(pickle.dumps(decision)).rules == decision.rules
    assert Schema.from_text(schema.to_pretty_yaml()).to_dict() == schema.to_dict()
    assert Schema.from_text(schema.to_pretty_json()).to_dict() == schema.to_dict()


def test_evidence_without_fits_is_taken_for_what_does_not_fit() -> None:
    stored = decided([[{"x": 1}]])

    decision = decide(stored, "t", [Evidence(path=("x",), type="text", count=3)])

    assert decision.rule(("x",), "text").column == "x__v_text"
