from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.normalize import kinds
from penstock.normalize.kinds import (
    Seen,
    questions,
)
from penstock.normalize.shape import group_of
from penstock.normalize.tree import parse_tree
from penstock.package import tags
from penstock.schema import naming, unique_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.normalize.kinds import Question


def name_keys(raw: Sequence[str]) -> Mapping[str, str]:
    return unique_names(raw, naming("snake_case"), fold_case=True)


def keep_keys(raw: Sequence[str]) -> Mapping[str, str]:
    return {key: key for key in raw}


def asked(text: str) -> list[Question]:
    return questions(group_of(parse_tree(text), name_keys))


def test_bits_are_distinct() -> None:
    bits = [seen.value for seen in Seen if seen]

    assert bits == [1 << place for place in range(len(bits))]


def test_only_values_in_doubt_are_asked_about() -> None:
    found = asked("OBJECT<a: BIGINT, b: STRING, c: DOUBLE, d: BOOLEAN, e: DECIMAL(20,0), f: VARIANT>")

    assert [question.key for question in found] == [((), ("b",)), ((), ("e",)), ((), ("f",))]


def test_a_question_is_named_by_the_raw_keys_of_every_list_on_the_way() -> None:
    (found,) = asked("OBJECT<A: ARRAY<OBJECT<`B c`: ARRAY<ARRAY<STRING>>>>>")

    assert found.key == ((), ("A",), ("B c",), (), ())


def test_a_number_is_asked_whether_it_passes_64_bits() -> None:
    (found,) = asked("OBJECT<n: DECIMAL(25,0)>")

    assert found.sql() == (
        "bit_or(CASE WHEN `row`.`n` IS NULL THEN 0L"
        " WHEN `row`.`n` > 9223372036854775807 OR `row`.`n` < -9223372036854775808 THEN 128L ELSE 0L END)"
    )


def test_lists_are_folded_so_that_no_row_is_multiplied() -> None:
    (found,) = asked("OBJECT<a: OBJECT<l: ARRAY<ARRAY<DECIMAL(25,0)>>>>")

    sql = found.sql()
    assert sql.startswith(
        "bit_or(coalesce(aggregate(`row`.`a`.`l`, 0L, (a0, x0) -> a0 | coalesce(aggregate(`x0`, 0L,"
        " (a1, x1) -> a1 | CASE WHEN `x1` IS NULL THEN 0L"
    )
    assert "explode" not in sql


@pytest.mark.parametrize(
    ("tag", "bit"),
    [
        (tags.DATETIME, Seen.TIMESTAMP),
        (tags.DECIMAL, Seen.DECIMAL),
        (tags.DATE, Seen.DATE),
        (tags.TIME, Seen.TIME),
        (tags.BYTES, Seen.BINARY),
        (tags.NUMBER, Seen.NUMBER),
    ],
)
def test_each_tag_has_its_bit_and_what_does_not_fit_its_tag_counts_as_text(tag: str, bit: Seen) -> None:
    (found,) = asked("OBJECT<t: STRING>")

    parsed = sqlglot.parse_one(found.sql(), dialect="spark")
    branches = {
        branch.this.name: branch.args["true"]
        for case in parsed.find_all(exp.Case)
        for branch in case.args["ifs"]
        if isinstance(branch.this, exp.Literal)
    }
    inner = branches[tag]
    assert inner.args["ifs"][0].args["true"].name in (
        f"{int(Seen.TAGGED | bit)}",
        f"{int(Seen.TAGGED | bit)}L",
    )
    assert f"{int(Seen.TAGGED | Seen.TEXT)}" in inner.args["default"].sql()


def test_a_text_is_looked_at_without_failing_on_odd_ones() -> None:
    (found,) = asked("OBJECT<t: STRING>")

    assert "try_cast(" in found.sql()
    assert " CAST(" not in found.sql()


def test_a_mixed_value_is_a_number_of_some_kind_or_something_else() -> None:
    (found,) = asked("OBJECT<m: VARIANT>")

    case = sqlglot.parse_one(found.sql(), dialect="spark").find(exp.Case)
    assert case is not None
    tests = [branch.this.sql("spark") for branch in case.args["ifs"]]
    bits = [branch.args["true"] for branch in case.args["ifs"]] + [case.args["default"]]
    assert [int(bit.this.name) for bit in bits] == [0, Seen.WHOLE, Seen.NUMBER, Seen.DECIMAL, Seen.OTHER]
    assert [tests[0].endswith("= 'VOID'"), tests[1].endswith("= 'BIGINT'")] == [True, True]
    assert ["'DECIMAL%'" in tests[2], f"'{tags.NUMBER}'" in tests[2]] == [True, True]
    assert [f"'{tags.DECIMAL}'" in tests[3], "RLIKE" in tests[3]] == [True, True]


def test_a_mixed_text_counts_as_a_decimal_only_when_it_is_a_text() -> None:
    (found,) = asked("OBJECT<m: VARIANT>")

    kind = "schema_of_variant(`row`.`m`)"
    assert found.sql().count(f"{kind} = 'STRING' AND") == 2


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("0", True),
        ("-1.5", True),
        ("9" * 29 + "." + "9" * 9, True),
        ("9" * 30, False),
        ("0." + "1" * 10, False),
        ("1.", False),
        (".5", False),
        ("1e3", False),
        ("", False),
        ("1\n2", False),
    ],
)
def test_a_decimal_fits_when_no_digit_would_be_lost(text: str, fits: bool) -> None:
    assert bool(re.search(kinds._FITS_DECIMAL, text)) == fits


@given(key=st.text(min_size=1, max_size=6) | st.text("`'\\\"", min_size=1, max_size=4))
def test_whatever_a_key_is_it_stays_inside_its_quotes(key: str) -> None:
    tree = parse_tree("OBJECT<a: ARRAY<OBJECT<b: STRING>>, c: VARIANT, d: DECIMAL(20,0)>")
    root = group_of(tree, lambda raw: {name: f"{key}{name}" for name in raw})

    for question in questions(root):
        parsed = sqlglot.parse_one(f"SELECT {question.sql()}", dialect="spark")
        named = {found.name for found in parsed.find_all(exp.Identifier)}
        assert {name for name in named if key in name} >= set(question.value.names)
        assert named <= {f"{key}{name}" for name in "abcd"} | {"row", "a0", "x0"}


def test_names_of_the_nested_dataset_are_asked_and_not_raw_keys() -> None:
    tree = parse_tree("OBJECT<`Home City`: STRING>")

    renamed, kept = (questions(group_of(tree, way))[0].sql() for way in (name_keys, keep_keys))

    assert "`row`.`home_city`" in renamed
    assert "`row`.`Home City`" in kept
