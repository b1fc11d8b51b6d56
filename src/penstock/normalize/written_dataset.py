"""What rows came to, before there are jobs for their tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.normalize.jobs import NormalizedPart
from penstock.normalize.nested_counts import nested_counts
from penstock.normalize.plan import plan_tables
from penstock.normalize.report import keyless_reject, root_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.schema import Decision, StoredSchema, ValuePath


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDataset:
    """Rows in their final place: a folder with a nested dataset, and how many it does not stand for."""

    folders: tuple[str, ...]
    """One, but for rows that stay where they were landed."""
    layout: NestedLayout
    rows: int
    unexpected: int = 0
    refused: int = 0
    """Root rows that are left out, because the contract refuses them or because they have no key."""
    keyless: int = 0
    list_sizes: Mapping[ValuePath, int] = field(default_factory=dict)
    """How many elements the lists have that stand in no other list."""
    passthrough_columns: Mapping[str, Any] | None = None
    """The columns of files that are as they were landed."""

    @property
    def folder(self) -> str:
        """Where the nested dataset stands."""
        return self.folders[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """What rows came to: a part of the root table, and the schema after it."""

    root: str
    part: NormalizedPart
    schema: StoredSchema


def normalized_part(
    decision: Decision, dataset: WrittenDataset, schema: StoredSchema, table: str
) -> NormalizedPart:
    """The part of a table that stands in one folder: a plan for each table, and what to report."""
    plans = plan_tables(decision, dataset.layout, is_partial=dataset.unexpected + dataset.refused > 0)
    is_counted = all(one.mode == "discard_value" for one in decision.refusals)
    rows = dataset.rows - dataset.unexpected - dataset.refused if is_counted else None
    nested = nested_counts(plans, decision.tables, dataset.list_sizes)
    report = root_report(table, plans, schema, rows_in=dataset.rows, rows_out=rows, nested=nested)
    if dataset.keyless:
        report = replace(report, rejects=(keyless_reject(table, dataset.keyless),))
    return NormalizedPart(
        folders=dataset.folders,
        plans=plans,
        layout=dataset.layout,
        report=report,
        passthrough_columns=dataset.passthrough_columns,
    )
