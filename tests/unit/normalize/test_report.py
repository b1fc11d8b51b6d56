from __future__ import annotations

from penstock.normalize.report import NormalizeInfo, RootReport


def test_the_text_tells_what_came_of_each_root_and_what_is_new() -> None:
    info = NormalizeInfo(
        load_id="17.5",
        seconds=1.26,
        roots=(
            RootReport(
                table="items",
                rows_in=12_000,
                rows_out=None,
                tables=("items", "items__tags"),
                new_tables=("items__tags",),
                new_columns=(("items", "price"),),
            ),
        ),
    )

    assert str(info).splitlines() == [
        "Normalized package 17.5 in 1.3 s",
        "- items: 12,000 rows into items, items__tags",
        "  new table items__tags",
        "  new column items.price",
    ]
