from __future__ import annotations

from typing import Any

import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.nested_layout import NestedLayout, sql_type
from penstock.normalize.plan import plan_layout, plan_tables, strict_fractions, uncertain_values
from penstock.normalize.profile import profile_rows
from penstock.normalize.unexpected import RowCheck, unconvertible_count, unexpected_rows
from penstock.package.projection.explode import projection_steps
from penstock.schema import Decision, Schema, StoredSchema, Table, decide


def decide_rows(
    rows: Any, stored: StoredSchema | None = None, *, is_complete: bool = False
) -> tuple[Decision, NestedLayout, RowCheck]:
    profile = profile_rows(encode(row) for row in rows)
    decision = decide(stored or Schema("shop").stored, "t", profile.evidence)
    layout = plan_layout(decision, profile)
    return decision, layout, unexpected_rows(decision, layout, profile, "corrupt", is_complete=is_complete)


@settings(max_examples=10)
@given(st.integers(0, 2_999))
def test_all_expressions_are_valid_sql_for_any_rows(number: int) -> None:
    case = rowset(number)
    stored = Schema.from_dict(case.document).stored
    decision, layout, check = decide_rows(case.batches[0], stored)
    _, _, check_of_known_rows = decide_rows(case.batches[0], stored, is_complete=True)

    texts = [*check.measures, check.unexpected, check_of_known_rows.unexpected]
    texts += [unconvertible_count(uncertain, "row") for uncertain in uncertain_values(decision, layout)]
    for plan in plan_tables(decision, layout):
        steps = projection_steps(plan.projection, load_id="1")
        texts += [column for step in steps for column in step.columns]
    for text in texts:
        assert sqlglot.parse_one(f"SELECT {text}", dialect="spark") is not None


def test_numbers_and_booleans_are_checked_by_the_parser_only() -> None:
    _, _, check = decide_rows([{"a": 1, "b": True}])

    assert "schema_of_variant" not in check.unexpected
    assert check.unexpected.startswith("coalesce(corrupt IS NOT NULL, false)")


def test_a_text_in_a_timestamp_column_is_checked_by_a_cast() -> None:
    decision, layout, check = decide_rows([{"at": "2024-01-02T03:04:05Z"}])

    (uncertain,) = uncertain_values(decision, layout)
    assert uncertain.target_types == ("timestamp",)
    assert "try_cast(row.`at` AS TIMESTAMP)" in check.unexpected.replace("`row`", "row")


def test_fractions_in_a_text_column_are_stored_apart_from_whole_numbers() -> None:
    table = Table.from_dict({"name": "t", "columns": {"a": {"data_type": "text"}}})
    stored = Schema("shop").stored.with_tables([table])

    decision, layout, check = decide_rows([{"a": 1.5, "b": 1.5}], stored)

    assert strict_fractions(decision) == {("a",)}
    assert sql_type(layout.root) == "STRUCT<`a`: VARIANT, `b`: DOUBLE>"
    assert "(abs(row.`b`) > 9007199254740992)" in check.measures[1]
