"""Rows that the inferred schema does not fit, found by SQL in the job that parses and writes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.normalize.plan import is_kept_as_json, uncertain_values
from penstock.normalize.unexpected.round_trip import can_round_trip, is_mostly_round_trip
from penstock.normalize.unexpected.row_check import RowCheck, unexpected_row_check
from penstock.normalize.unexpected.unconvertible import has_unconvertible, unconvertible_count

if TYPE_CHECKING:
    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.profile import RowProfile
    from penstock.schema import Decision

__all__ = ["RowCheck", "is_mostly_round_trip", "unconvertible_count", "unexpected_rows"]


def unexpected_rows(
    decision: Decision,
    layout: NestedLayout,
    profile: RowProfile,
    corrupt: str,
    *,
    is_complete: bool = False,
    compares_texts: bool = False,
) -> RowCheck:
    """Return SQL that selects parsed rows with anything that the layout or the decided columns do not hold.

    It reads the columns `text` and `row`, and `corrupt`, which Spark fills where parsing fails. If the
    profile `is_complete`, it has seen every row, and only conversions are left to check. `compares_texts`
    saves counts if most rows are equal to their texts when they are written as JSON again.
    """
    uncertain = uncertain_values(decision, layout)
    if is_complete and not profile.unreadable:
        return RowCheck(unexpected=has_unconvertible(uncertain, row="row", corrupt=corrupt))
    return unexpected_row_check(
        layout,
        profile,
        uncertain,
        kept_as_json=partial(is_kept_as_json, decision),
        text="text",
        row="row",
        corrupt=corrupt,
        compares_texts=compares_texts and can_round_trip(layout),
    )
