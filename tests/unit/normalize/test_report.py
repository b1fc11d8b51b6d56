from __future__ import annotations

from penstock.normalize.report import (
    NormalizeReport,
    Reject,
    RootReport,
    StepReport,
    merged_report,
    schema_changes,
)
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
    unreadable=2,
)


def test_the_text_lists_rows_changes_and_rejects_of_each_root_table() -> None:
    report = NormalizeReport(
        load_id="17.5",
        seconds=1.26,
        roots=(ITEMS,),
        steps=(StepReport(name="learn", seconds=0.2), StepReport(name="shape", seconds=1, bytes=1_200_000)),
        bytes_in=3_400_000,
        bytes_out=1_200_000,
    )

    assert str(report).splitlines() == [
        "Normalized package 17.5 in 1.3 s: 3.2 MB read, 1.1 MB written",
        "  learn 0.2 s, shape 1.0 s (1.1 MB)",
        "- items: 12,000 rows",
        "  - items__tags: 24,000 rows",
        "  - items__tags__list",
        "  new column items.price: double",
        "  1 row of items left out: no new, such as 'x'",
        "  2 rows left out: they could not be read",
    ]


def test_counts_of_the_load_fill_in_unknown_ones() -> None:
    report = NormalizeReport(load_id="17.5", seconds=1, roots=(ITEMS,)).with_loaded(
        {"items": 5, "items__tags": 6, "items__tags__list": 7}
    )

    assert report.row_counts == {"items": 11_997, "items__tags": 24_000, "items__tags__list": 7}


def test_reports_of_parts_are_summed_and_rejects_merged_by_reason() -> None:
    merged = merged_report([ITEMS, ITEMS])

    assert (merged.rows_in, merged.rows_out, merged.unreadable) == (24_000, 23_994, 4)
    assert merged.nested == {"items__tags": 48_000, "items__tags__list": None}
    assert [reject.count for reject in merged.rejects] == [2]
    assert merged.changes == ITEMS.changes


def test_schema_changes_are_described_in_words() -> None:
    first = decide(Schema("shop").stored, "items", gather([{"id": 1}])).schema
    second = decide(first, "items", gather([{"id": "x", "new": 2.5}])).schema

    assert list(schema_changes({}, first.tables["items"])) == ["new table items: id bigint"]
    assert list(schema_changes(first.tables, second.tables["items"])) == [
        "new column items.id__v_text: text, for values of another type",
        "new column items.new: double",
    ]
