"""Job files of a package: one for each table, with its data folders and the projection that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.normalize.flat_rows import FLAT
from penstock.normalize.nested_layout import ListOf, NestedLayout, Object
from penstock.normalize.passthrough import (
    are_few_files,
    file_columns,
    flat_columns,
    frame_file_columns,
)
from penstock.normalize.report import merged_report
from penstock.package import JobFile, JobPart, ParsedLoadJobFileName, TableEntry
from penstock.package.ids import file_id
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from penstock.normalize.nested_layout import LayoutNode
    from penstock.normalize.plan import TablePlan
    from penstock.normalize.table_parts import TablePart
    from penstock.package import DataFolder, Package
    from penstock.package.job_file import FrameFileColumn
    from penstock.package.projection.model import Level, OutputColumn, Projection
    from penstock.schema.value_path import ValuePath

# No field has this name: it keeps a list whose elements are counted and not read.
_ELEMENT_MARKER: Final = ""
_EXTRACTED: Final = "data/extracted/"


def add_jobs(
    package: Package, parts: Sequence[TablePart], folders: Mapping[str, DataFolder], attempt: str
) -> list[TableEntry]:
    """Add one job for each table of a root table, children first.

    A table that several parts have rows of gets one job: a destination commits each table once.
    """
    parts_by_table: dict[str, list[_PlannedFolder]] = {}
    for number, part in enumerate(parts):
        for plan in part.plans:
            parts_by_table.setdefault(plan.table.name, []).extend(
                _PlannedFolder((number, index), plan, job_part)
                for index, job_part in enumerate(job_parts(part, plan, folders))
            )
    root = parts[0].report.table
    rows = merged_report([part.report for part in parts]).rows_out
    # The position of a nested row is that of its root row, whose table has all folders.
    numbers = {folder.key: number for number, folder in enumerate(_sorted_folders(parts_by_table[root]))}
    return [
        _add_job(package, table, planned, numbers, attempt, rows=rows if table == root else None)
        for table, planned in reversed(parts_by_table.items())
    ]


class _PlannedFolder(NamedTuple):
    """A folder with rows of a table, and its key among those of the chain."""

    key: tuple[int, int]
    plan: TablePlan
    part: JobPart


def _add_job(
    package: Package,
    table: str,
    planned: Sequence[_PlannedFolder],
    numbers: Mapping[tuple[int, int], int],
    attempt: str,
    *,
    rows: int | None,
) -> TableEntry:
    name = ParsedLoadJobFileName(table, file_id(package.load_id, attempt, table), 0, "reference")
    sorted_folders = _sorted_folders(planned)
    first, *more = (folder.part for folder in sorted_folders)
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
            part_numbers=tuple(numbers[folder.key] for folder in sorted_folders),
            rows=rows,
        )
    )
    return TableEntry(
        table=table,
        job=name.file_name(),
        write_disposition=planned[-1].plan.table.write_disposition or "append",
        data=first.data.path,
        more=tuple(part.data.path for part in more),
        rows=rows,
    )


def _sorted_folders(planned: Sequence[_PlannedFolder]) -> list[_PlannedFolder]:
    """Sort frames as they were extracted; `table_inputs` grouped them by type."""
    are_extracted = all(folder.part.data.path.startswith(_EXTRACTED) for folder in planned)
    return sorted(planned, key=lambda folder: folder.part.data.path) if are_extracted else list(planned)


def job_parts(part: TablePart, plan: TablePlan, folders: Mapping[str, DataFolder]) -> Iterator[JobPart]:
    """Yield for each folder of a part how the rows of a table are read from it."""
    dataset = part.dataset
    if dataset.flat_files:
        flat = dataset.flat_files[plan.table.name]
        yield JobPart(data=flat.folder, columns=flat.columns, projection=FLAT)
        return
    described = [folders[folder] for folder in dataset.folders]
    fields: tuple[FrameFileColumn, ...] = ()
    if dataset.passthrough_columns is None:
        columns = pruned_columns(dataset.layout, plan.projection)
    else:
        columns = file_columns(dataset.passthrough_columns)
        fields = frame_file_columns(dataset.passthrough_columns, dataset.layout)
        is_flat = dataset.is_flat and are_few_files(described)
        own_columns = flat_columns(plan.projection, fields) if is_flat else None
        if own_columns is not None:
            yield from (JobPart(data=folder, columns=own_columns, projection=FLAT) for folder in described)
            return
    for folder in described:
        yield JobPart(data=folder, columns=columns, projection=plan.projection, landed=fields)


def written_bytes(
    roots: Mapping[str, Sequence[TablePart]], folders: Mapping[str, DataFolder]
) -> dict[str, int]:
    """Return the bytes that each writing step wrote."""

    def size(parts: Iterable[TablePart]) -> int:
        return sum(folders[path].bytes or 0 for part in parts for path in part.dataset.written_folders)

    shaped = (part for table, parts in roots.items() if table != QUARANTINE_TABLE for part in parts)
    return {"shape": size(shaped), "quarantine": size(roots.get(QUARANTINE_TABLE, ()))}


# --- the columns that a projection reads


def pruned_columns(layout: NestedLayout, projection: Projection) -> str:
    """Return the columns that a projection reads, as Spark SQL.

    With all columns of a row with hundreds of lists in each job file, the cost of a load would grow with the
    square of their number.
    """
    root = _pruned_node(layout.root, list(_projection_paths(projection)))
    return NestedLayout(root if isinstance(root, Object) else layout.root).columns


def _projection_paths(projection: Projection) -> Iterator[ValuePath]:
    """Yield the paths of all values that are read, by the names of fields."""
    parents: list[ValuePath] = [()]
    for level in projection.levels:
        if level.lists:
            parents = [(*parent, *at.path, EACH) for parent in parents for at, _ in level.lists]
        for parent in parents:
            yield from ((*parent, *path) for path in _level_paths(level))
    own_load_id = () if projection.own_load_id is None else (projection.own_load_id,)
    for parent in parents:
        columns = (*projection.columns, *own_load_id)
        yield from ((*parent, *path) for column in columns for path in _column_paths(column))
        if EACH in parent:
            yield (*parent, _ELEMENT_MARKER)


def _level_paths(level: Level) -> Iterator[ValuePath]:
    for column in (level.own_id, *level.passed):
        if column is not None:
            yield from _column_paths(column)
    yield from (exclusion.at.path for exclusion in level.refused)


def _column_paths(column: OutputColumn) -> Iterator[ValuePath]:
    return (value.at.path for value in column.values)


def _pruned_node(node: LayoutNode, paths: Collection[ValuePath]) -> LayoutNode:
    """Return a node with the values at these paths only, and everything below them."""
    if () in paths:
        return node
    match node:
        case Object(fields=fields):
            pruned = {
                key: (name, _pruned_node(child, [path[1:] for path in paths if path[0] == name]))
                for key, (name, child) in fields.items()
                if any(path[0] == name for path in paths)
            }
            return Object(fields=pruned) if pruned else node
        case ListOf(element=element):
            return ListOf(element=_pruned_node(element, [path[1:] for path in paths]))
        case _:
            return node
