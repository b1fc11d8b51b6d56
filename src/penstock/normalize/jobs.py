"""Leaves job files: one for each table, which says where its rows stand and how to see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.normalize.passthrough import file_columns, frame_file_columns
from penstock.normalize.pruned_columns import pruned_columns
from penstock.normalize.report import merged_report
from penstock.package import JobFile, JobPart, ParsedLoadJobFileName, TableEntry
from penstock.package.ids import file_id
from penstock.package.quarantine import QUARANTINE_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.normalize.plan import TablePlan
    from penstock.normalize.report import RootReport
    from penstock.package import DataFolder, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedPart:
    """What one reading of a root table came to: its plans, root first, over one nested dataset."""

    folders: tuple[str, ...]
    """Where it was written, in one folder; or where its rows were landed."""
    plans: list[TablePlan]
    layout: NestedLayout
    report: RootReport
    passthrough_columns: Mapping[str, Any] | None = None
    """The columns of the files, where those are as they were landed and no nested dataset was written."""

    @property
    def written_folders(self) -> tuple[str, ...]:
        """The folders that are new."""
        return self.folders if self.passthrough_columns is None else ()

    def job_parts(self, plan: TablePlan, folders: Mapping[str, DataFolder]) -> Iterator[JobPart]:
        """How a table is read out of each folder."""
        landed = self.passthrough_columns
        read = pruned_columns(self.layout, plan.projection) if landed is None else file_columns(landed)
        fields = () if landed is None else frame_file_columns(landed, self.layout)
        for folder in self.folders:
            yield JobPart(data=folders[folder], columns=read, projection=plan.projection, landed=fields)


def written_bytes(
    roots: Mapping[str, Sequence[NormalizedPart]], folders: Mapping[str, DataFolder]
) -> dict[str, int]:
    """What the steps wrote, by their names."""

    def size(parts: Iterable[NormalizedPart]) -> int:
        return sum(folders[path].bytes or 0 for part in parts for path in part.written_folders)

    shaped = (part for table, parts in roots.items() if table != QUARANTINE_TABLE for part in parts)
    return {"shape": size(shaped), "put aside": size(roots.get(QUARANTINE_TABLE, ()))}


def add_jobs(
    package: Package, parts: Sequence[NormalizedPart], folders: Mapping[str, DataFolder], attempt: str
) -> list[TableEntry]:
    """One job for each table, wherever its rows stand: a destination commits a table once. Children first."""
    by_table: dict[str, list[tuple[TablePlan, NormalizedPart]]] = {}
    for part in parts:
        for plan in part.plans:
            by_table.setdefault(plan.table.name, []).append((plan, part))
    root = parts[0].report.table
    rows = merged_report([part.report for part in parts]).rows_out
    return [
        _add_job(package, table, found, folders, attempt, rows=rows if table == root else None)
        for table, found in reversed(by_table.items())
    ]


def _sorted_parts(parts: list[JobPart]) -> list[JobPart]:
    """Frames in the order in which they came, though those of one type were read together."""
    return sorted(parts, key=lambda one: one.data.path) if all(one.landed for one in parts) else parts


def _add_job(
    package: Package,
    table: str,
    planned_parts: Sequence[tuple[TablePlan, NormalizedPart]],
    folders: Mapping[str, DataFolder],
    attempt: str,
    *,
    rows: int | None,
) -> TableEntry:
    name = ParsedLoadJobFileName(table, file_id(package.load_id, attempt, table), 0, "reference")
    first, *more = _sorted_parts(
        [one for plan, part in planned_parts for one in part.job_parts(plan, folders)]
    )
    package.add_job(
        JobFile(
            name=name,
            load_id=package.load_id,
            package_path=package.path,
            data=first.data,
            columns=first.columns,
            projection=first.projection,
            landed=first.landed,
            more=tuple(more),
            rows=rows,
        )
    )
    return TableEntry(
        table=table,
        job=name.file_name(),
        write_disposition=planned_parts[-1][0].table.write_disposition or "append",
        data=first.data.path,
        more=tuple(part.data.path for part in more),
        rows=rows,
    )
