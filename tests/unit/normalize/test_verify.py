from __future__ import annotations

from typing import Any

import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.nested_layout import NestedLayout, build_layout, sql_type
from penstock.normalize.plan import is_kept_as_json, plan_tables, strict_fractions, uncertain_values
from penstock.normalize.profile import profile_rows
from penstock.normalize.unexpected.row_check import RowCheck, unexpected_row_check
from penstock.normalize.unexpected.unconvertible import has_unconvertible, unconvertible_count
from penstock.package.projection.explode import projection_steps
from penstock.schema import Decision, Schema, StoredSchema, Table, decide


def decided(rows: Any, stored: StoredSchema | None = None) -> tuple[Decision, NestedLayout, RowCheck]:
    learned = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", learned.evidence)

    def is_whole(path: Any, form: Any) -> bool:
        return is_kept_as_json(decision, path, form)

    dataset = build_layout(learned.forms, is_whole, strict_fractions(decision))
    odd = unexpected_row_check(
        dataset,
        learned.forms,
        uncertain_values(decision, dataset),
        kept_as_json=is_whole,
        text="text",
        row="row",
        corrupt="corrupt",
    )
    return decision, dataset, odd


@settings(max_examples=10)
@given(st.integers(0, 2_999))
def test_what_is_made_for_any_rows_is_sql(number: int) -> None:
    case = rowset(number)
    decision, dataset, check = decided(case.batches[0], Schema.from_dict(case.document).stored)

    texts = [
        *check.measures,
        check.unexpected,
        has_unconvertible(uncertain_values(decision, dataset), row="row", corrupt="corrupt"),
    ]
    texts += [unconvertible_count(doubt, "row") for doubt in uncertain_values(decision, dataset)]
    for plan in plan_tables(decision, dataset):
        texts += [one for step in projection_steps(plan.projection, load_id="1") for one in step.columns]
    for text in texts:
        assert sqlglot.parse_one(f"SELECT {text}", dialect="spark") is not None


def test_numbers_and_booleans_are_left_to_the_parser() -> None:
    _, _, check = decided([{"a": 1, "b": True}])

    assert "schema_of_variant" not in check.unexpected
    assert check.unexpected.startswith("coalesce(corrupt IS NOT NULL, false)")


def test_a_text_that_is_a_moment_is_tried() -> None:
    decision, dataset, check = decided([{"at": "2024-01-02T03:04:05Z"}])

    (doubt,) = uncertain_values(decision, dataset)
    assert doubt.target_types == ("timestamp",)
    assert "try_cast(row.`at` AS TIMESTAMP)" in check.unexpected.replace("`row`", "row")


def test_fractions_in_a_column_of_texts_are_told_from_whole_numbers() -> None:
    table = Table.from_dict({"name": "t", "columns": {"a": {"data_type": "text"}}})
    stored = Schema("shop").stored.with_tables([table])

    decision, dataset, check = decided([{"a": 1.5, "b": 1.5}], stored)

    assert strict_fractions(decision) == {("a",)}
    assert sql_type(dataset.root) == "STRUCT<`a`: VARIANT, `b`: DOUBLE>"
    assert "(abs(row.`b`) > 9007199254740992)" in check.measures[1]
