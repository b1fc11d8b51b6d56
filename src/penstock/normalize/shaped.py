"""What rows came to, before there are jobs for their tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.normalize.jobs import Part
from penstock.normalize.plan import plan_tables
from penstock.normalize.report import keyless_reject, root_report
from penstock.normalize.sizes import nested_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.normalize.stored import Dataset
    from penstock.schema import Decision, Path, StoredSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """Rows in their final place: a folder with a nested dataset, and how many it does not stand for."""

    folders: tuple[str, ...]
    """One, but for rows that stay where they were landed."""
    dataset: Dataset
    rows: int
    odd: int = 0
    refused: int = 0
    """Root rows that are left out, because the contract refuses them or because they have no key."""
    keyless: int = 0
    sizes: Mapping[Path, int] = field(default_factory=dict)
    """How many elements the lists have that stand in no other list."""
    landed: Mapping[str, Any] | None = None
    """The columns of files that are as they were landed."""

    @property
    def folder(self) -> str:
        """Where the nested dataset stands."""
        return self.folders[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What rows came to: a part of the root table, and the schema after it."""

    root: str
    part: Part
    schema: StoredSchema


def part_of(decision: Decision, shaped: Shaped, stored: StoredSchema, table: str) -> Part:
    """The part of a table that stands in one folder: a plan for each table, and what to report."""
    plans = plan_tables(decision, shaped.dataset, is_partial=shaped.odd + shaped.refused > 0)
    is_counted = all(one.mode == "discard_value" for one in decision.refusals)
    rows = shaped.rows - shaped.odd - shaped.refused if is_counted else None
    nested = nested_counts(plans, decision.tables, shaped.sizes)
    report = root_report(table, plans, stored, rows_in=shaped.rows, rows_out=rows, nested=nested)
    if shaped.keyless:
        report = replace(report, rejects=(keyless_reject(table, shaped.keyless),))
    return Part(
        folders=shaped.folders, plans=plans, dataset=shaped.dataset, report=report, landed=shaped.landed
    )
