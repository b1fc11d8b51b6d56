from __future__ import annotations

from penstock.normalize.changes import schema_changes
from penstock.normalize.report import NormalizeReport, Reject, RootReport, StepReport, merged_report
from penstock.schema import Schema, decide, gather

ITEMS = RootReport(
    table="items",
    rows_in=12_000,
    rows_out=11_997,
    tables=("items", "items__tags", "items__tags__list"),
    changes=("new column items.price: double",),
    nested={"items__tags": 24_000, "items__tags__list": None},
    rejects=(
        Reject(table="items", column="new", mode="discard_row", count=1, reason="no new", examples=("x",)),
    ),
    put_aside=2,
)


def test_the_text_tells_what_came_of_each_root_what_is_new_and_what_was_left_out() -> None:
    info = NormalizeReport(
        load_id="17.5",
        seconds=1.26,
        roots=(ITEMS,),
        steps=(StepReport(name="learn", seconds=0.2), StepReport(name="shape", seconds=1, bytes=1_200_000)),
        bytes_in=3_400_000,
        bytes_out=1_200_000,
    )

    assert str(info).splitlines() == [
        "Normalized package 17.5 in 1.3 s: 3.2 MB read, 1.1 MB written",
        "  learn 0.2 s, shape 1.0 s (1.1 MB)",
        "- items: 12,000 rows",
        "  - items__tags: 24,000 rows",
        "  - items__tags__list",
        "  new column items.price: double",
        "  1 row of items left out: no new, such as 'x'",
        "  2 rows put aside: nothing could be made of them",
    ]


def test_what_only_the_load_could_count_is_filled_in() -> None:
    info = NormalizeReport(load_id="17.5", seconds=1, roots=(ITEMS,)).with_loaded(
        {"items": 5, "items__tags": 6, "items__tags__list": 7}
    )

    assert info.row_counts == {"items": 11_997, "items__tags": 24_000, "items__tags__list": 7}


def test_parts_of_one_table_are_added_up_and_a_reason_is_told_once() -> None:
    joined = merged_report([ITEMS, ITEMS])

    assert (joined.rows_in, joined.rows_out, joined.put_aside) == (24_000, 23_994, 4)
    assert joined.nested == {"items__tags": 48_000, "items__tags__list": None}
    assert [reject.count for reject in joined.rejects] == [2]
    assert joined.changes == ITEMS.changes


def test_changes_of_a_schema_are_told_in_words() -> None:
    first = decide(Schema("shop").stored, "items", gather([{"id": 1}])).schema
    then = decide(first, "items", gather([{"id": "x", "new": 2.5}])).schema

    assert list(schema_changes({}, first.tables["items"])) == ["new table items: id bigint"]
    assert list(schema_changes(first.tables, then.tables["items"])) == [
        "new column items.id__v_text: text, for values that do not fit beside it",
        "new column items.new: double",
    ]
