"""Assertions on tables show the difference in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.testing import assert_table, temporary_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.pipeline.pipeline import Pipeline

ROWS = [{"id": number, "name": f"row {number}", "price": number / 2} for number in range(12)]


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    with temporary_pipeline("shop") as created:
        created.run(ROWS, table_name="orders", primary_key="id")
        created.run([{"city": "Rome", "size": 3, "tags": ["a"]}, {"city": "Oslo"}], table_name="cities")
        yield created


def message(pipeline: Pipeline, table: str, **expected: Any) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        assert_table(pipeline, table, **expected)
    return str(caught.value).splitlines()


def test_a_table_as_expected_raises_nothing(pipeline: Pipeline) -> None:
    assert_table(
        pipeline, "orders", rows=reversed(ROWS), columns=["price", "id", "name"], unique="id", count=12
    )
    assert_table(pipeline, "orders", columns={"id": "bigint", "name": "text", "price": "double"})
    assert_table(pipeline, "cities", rows=[{"city": "Oslo"}, {"city": "Rome", "size": 3}])
    assert_table(pipeline, "cities__tags", rows=[{"value": "a"}])


def test_a_changed_row_is_shown_by_its_primary_key(pipeline: Pipeline) -> None:
    rows = [*ROWS[:3], {"id": 3, "name": "third", "price": 9.5}, *ROWS[4:]]

    assert message(pipeline, "orders", rows=rows) == [
        "orders: 1 of 12 rows differ",
        "  row with id 3: name is 'row 3', expected: 'third', price is 1.5, expected: 9.5",
    ]


def test_missing_and_unexpected_rows_are_shown(pipeline: Pipeline) -> None:
    rows = [{"id": 77, "name": "row 3"}, *ROWS[1:]]

    assert message(pipeline, "orders", rows=rows) == [
        "orders: 1 missing, 1 unexpected of 12 rows",
        "  missing: id=77, name='row 3'",
        "  unexpected: id=0, name='row 0', price=0.0",
    ]


def test_a_row_without_a_key_is_compared_with_the_most_similar_one(pipeline: Pipeline) -> None:
    assert message(pipeline, "cities", rows=[{"city": "Rome", "size": 4}, {"city": "Oslo"}]) == [
        "cities: 1 of 2 rows differ",
        "  row with city 'Rome': size is 3, expected: 4",
    ]


def test_a_long_difference_is_cut(pipeline: Pipeline) -> None:
    lines = message(pipeline, "orders", rows=[])

    assert lines[0] == "orders: 12 unexpected of 12 rows"
    assert lines[-1] == "  ... and 7 more"
    assert len(lines) == 7


def test_wrong_columns_types_counts_and_duplicates_are_shown_together(pipeline: Pipeline) -> None:
    expected: dict[str, Any] = {"columns": {"id": "text", "title": "text"}, "count": 3, "unique": "label"}

    assert message(pipeline, "orders", **expected) == [
        "orders: 12 rows, expected: 3",
        "the columns differ",
        "  missing: title",
        "  unexpected: name, price",
        "  id is bigint, expected: text",
        "column 'label' does not exist; columns: id, name, price",
    ]


def test_repeated_values_are_shown_with_their_number(pipeline: Pipeline) -> None:
    with temporary_pipeline("twice") as other:
        other.run([{"id": 1, "day": 2}, {"id": 1, "day": 2}, {"id": 1, "day": 3}], table_name="visits")

        assert message(other, "visits", unique=["id", "day"]) == [
            "visits: id, day is not unique",
            "  1, 2: 2 rows",
        ]
        assert_table(other, "visits", count=3)
        assert message(other, "visits", rows=[{"id": 1, "day": 2}, {"id": 1, "day": 3}]) == [
            "visits: 1 unexpected of 3 rows",
            "  unexpected: id=1, day=2",
        ]


def test_a_missing_table_is_shown_with_the_nearest_name(pipeline: Pipeline) -> None:
    assert message(pipeline, "order") == [
        "table 'order' does not exist; did you mean 'orders'?",
        "  tables: cities, cities__tags, orders",
    ]
