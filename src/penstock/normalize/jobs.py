"""Leaves job files: one for each table, which says where its rows stand and how to see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.normalize.pruned import columns_for
from penstock.normalize.report import joined_reports
from penstock.package import JobFile, JobPart, ParsedLoadJobFileName, TableEntry
from penstock.package.ids import file_id
from penstock.package.quarantine import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.normalize.plan import TablePlan
    from penstock.normalize.report import RootReport
    from penstock.normalize.stored import Dataset
    from penstock.package import DataFolder, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one reading of a root table came to: its plans, root first, over one nested dataset."""

    folder: str
    plans: list[TablePlan]
    dataset: Dataset
    report: RootReport


def written_bytes(roots: Mapping[str, Sequence[Part]], folders: Mapping[str, DataFolder]) -> dict[str, int]:
    """What the steps wrote, by their names."""
    aside = {part.folder for part in roots.get(TABLE, ())}
    shaped = sum(folder.bytes or 0 for path, folder in folders.items() if path not in aside)
    return {
        "shape": shaped,
        "put aside": sum(folders[path].bytes or 0 for path in aside if path in folders),
    }


def add_jobs(
    package: Package, parts: Sequence[Part], folders: Mapping[str, DataFolder], attempt: str
) -> list[TableEntry]:
    """One job for each table, wherever its rows stand: a destination commits a table once. Children first."""
    by_table: dict[str, list[tuple[TablePlan, Part]]] = {}
    for part in parts:
        for plan in part.plans:
            by_table.setdefault(plan.table.name, []).append((plan, part))
    root = parts[0].report.table
    rows = joined_reports([part.report for part in parts]).rows_out
    return [
        _add_job(package, table, found, folders, attempt, rows=rows if table == root else None)
        for table, found in reversed(by_table.items())
    ]


def _add_job(
    package: Package,
    table: str,
    found: Sequence[tuple[TablePlan, Part]],
    folders: Mapping[str, DataFolder],
    attempt: str,
    *,
    rows: int | None,
) -> TableEntry:
    name = ParsedLoadJobFileName(table, file_id(package.load_id, attempt, table), 0, "reference")
    first, *more = (
        JobPart(
            data=folders[part.folder],
            columns=columns_for(part.dataset, plan.projection),
            projection=plan.projection,
        )
        for plan, part in found
    )
    package.add_job(
        JobFile(
            name=name,
            load_id=package.load_id,
            package_path=package.path,
            data=first.data,
            columns=first.columns,
            projection=first.projection,
            more=tuple(more),
            rows=rows,
        )
    )
    return TableEntry(
        table=table,
        job=name.file_name(),
        write_disposition=found[-1][0].table.write_disposition or "append",
        data=first.data.path,
        rows=rows,
    )
