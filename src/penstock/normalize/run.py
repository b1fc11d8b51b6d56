"""Normalization of one package: each root table is written typed, and its tables get job files."""

from __future__ import annotations

import time
import uuid
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.interfaces.progress import Collector
from penstock.normalize.checks import CheckContext, checks_by_table, quarantine_checks
from penstock.normalize.frames import normalize_frames
from penstock.normalize.jobs import add_jobs, written_bytes
from penstock.normalize.normalized import NormalizedPackage
from penstock.normalize.package_checks import evaluate_checks, write_check_results
from penstock.normalize.plan import plan_layout
from penstock.normalize.prior_schema import (
    has_seen_data,
    inference_options,
    options_of_replay,
    options_of_table,
    with_declared_tables,
    with_root_table,
)
from penstock.normalize.profile import RowProfile
from penstock.normalize.progress import Stopwatch, TableProgress
from penstock.normalize.report import NormalizeReport, merged_report
from penstock.normalize.rows import normalize_rows
from penstock.normalize.settings import NormalizeConfiguration
from penstock.normalize.small_tables import write_small_tables
from penstock.normalize.table_inputs import TableInput, table_inputs
from penstock.normalize.table_parts import DriverBudget, PackageContext, TablePart, table_part, write_dataset
from penstock.package import DataFolder, Package
from penstock.package.checks import CHECKS_TABLE
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.folder import data_files, list_folders
from penstock.package.manifest import job_sizes
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.schema import Evidence, decide
from penstock.schema.frozen_map import FrozenMap
from penstock.schema.origin import hint_origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.interfaces.check import Check
    from penstock.package import TableEntry
    from penstock.package.checks import CheckResult
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.schema import NamingConvention, Schema, StoredSchema
    from penstock.schema.origin import ColumnOrigin
    from penstock.schema.types import DataType

_MAX_LISTED_FILES: Final = 1_000


def normalize(  # noqa: PLR0913 - everything that a run decides about normalization
    package: Package,
    schema: Schema,
    *,
    spark: SparkSession,
    naming: NamingConvention,
    table_extras: Mapping[str, Any],
    table_defaults: Mapping[str, Any] = FrozenMap[Any](),
    settings: NormalizeConfiguration | None = None,
    capabilities: DestinationCapabilitiesContext | None = None,
    can_alter: frozenset[tuple[DataType, DataType]] = frozenset(),
    collector: Collector | None = None,
    truncated: Sequence[ExtractedTable] = (),
    describe_jobs: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
    functions: Sequence[Check] = (),
    earlier_rows: Callable[[str, int], Sequence[int]] = lambda *_: (),
) -> NormalizedPackage:
    """Write every extracted table in its final shape, with its nested tables, and add a job for each.

    `table_extras` are hints of every table, `table_defaults` of tables without such a hint. `capabilities`
    are those of the destination; `can_alter` are the types that it can change into one another. `truncated`
    tables are left without rows. `describe_jobs` names a table in Spark's UI for the jobs of a block. The
    checks that the package carries are evaluated, with the `functions` of gates of this call and with
    `earlier_rows`, the row counts of a table in so many loads; the caller acts on failed ones.

    Idempotent: each attempt writes to a new folder, and takes effect with `save_normalized`.
    """
    started, started_at = time.monotonic(), datetime.now(UTC)
    attempt = uuid.uuid4().hex[:12]
    settings = settings or NormalizeConfiguration()
    extracted = ExtractManifest.from_dict(package.read_extracted())
    progress = TableProgress(collector or Collector())
    checks = _checks_of_package(extracted, naming, functions)
    context = PackageContext(
        package=package,
        spark=spark,
        options=inference_options(naming, extracted.contract, capabilities=capabilities, can_alter=can_alter),
        naming=naming,
        capabilities=capabilities,
        table_extras=table_extras,
        new_folders=(f"data/normalized/{attempt}/{number:05d}" for number in count()),
        # A row that is refused again must not be lost.
        quarantine=settings.quarantine or extracted.replay is not None,
        stopwatch=Stopwatch(progress.step),
        driver_budget=DriverBudget(settings.driver_rows),
        quarantine_checks={table: quarantine_checks(of_table) for table, of_table in checks.items()},
        extracted_files=_list_row_files(package, extracted.tables),
        replay=extracted.replay,
    )
    declared = with_declared_tables(schema.stored, extracted)
    inputs = table_inputs(extracted.tables, truncated)
    with package.store.folders_synced_at_end():
        roots, stored = _normalize_tables(context, inputs, declared, table_defaults, progress, describe_jobs)
        folders = _describe_folders(context, roots)
        entries = [entry for parts in roots.values() for entry in add_jobs(package, parts, folders, attempt)]
        results: tuple[CheckResult, ...] = ()
        if checks:
            with describe_jobs(CHECKS_TABLE):
                bounds = CheckContext(now=datetime.now(UTC), earlier_rows=earlier_rows)
                results = evaluate_checks(context, checks, roots, entries, bounds)
            part = write_check_results(context, results, stored)
            roots[CHECKS_TABLE], stored = [part], part.schema
            checks_folders = {flat.folder.path: flat.folder for flat in part.dataset.flat_files.values()}
            folders |= checks_folders
            entries += add_jobs(package, [part], checks_folders, attempt)
        schema_after = _schema_after(schema, stored, roots)
    sizes = written_bytes(roots, folders)
    return NormalizedPackage(
        tables=tuple(entries),
        folders=tuple(folders.values()),
        schema=schema_after,
        origins=(*hint_origins(schema.stored, declared), *_origins(roots)),
        report=NormalizeReport(
            load_id=package.load_id,
            roots=tuple(merged_report([part.report for part in parts]) for parts in roots.values()),
            seconds=time.monotonic() - started,
            steps=context.stopwatch.steps(sizes),
            bytes_in=sum(table.bytes for table in extracted.tables),
            bytes_out=sum(sizes.values()),
            started_at=started_at,
            jobs=_job_files(package, entries, folders.values()),
            checks=results,
        ),
        checks=results,
    )


def _checks_of_package(
    extracted: ExtractManifest, naming: NamingConvention, functions: Sequence[Check]
) -> dict[str, tuple[Check, ...]]:
    """Return the checks of a package by table; raise for a gate whose function this call does not have."""
    resources = {
        naming.normalize_tables_path(table.table): table.resource
        for table in extracted.tables
        if table.table != QUARANTINE_TABLE
    }
    by_name = {(gate.table, gate.name): gate for gate in functions}
    checks = [by_name.get((check.table, check.name), check) for check in extracted.checks]
    for check in checks:
        if check.kind == "function" and check.function is None:
            raise UsageError(
                f"the function of gate {check.name!r} of {check.table} is not known in this process",
                hint="load the package by the program that declares the gate: pass gates=[...] to it",
            )
    return checks_by_table(checks, resources, naming.normalize_tables_path)


def _list_row_files(package: Package, tables: Sequence[ExtractedTable]) -> Mapping[str, Mapping[str, int]]:
    """Return the files of the folders with rows; of none if a listing of all files would have many pages."""
    if sum(table.files for table in tables) > _MAX_LISTED_FILES:
        return {}
    folders = [table.folder for table in tables if table.rows and table.columns is None]
    return list_folders(package.store, folders)


def _job_files(
    package: Package, entries: Sequence[TableEntry], folders: Iterable[DataFolder]
) -> dict[str, tuple[str, int | None]]:
    """Return the address and the bytes of each job's files, by job id."""
    sizes = job_sizes(entries, folders)
    return {entry.job_id: (package.store.path(entry.data or ""), sizes[entry.job]) for entry in entries}


def _normalize_tables(
    context: PackageContext,
    inputs: Mapping[str, Sequence[TableInput]],
    schema: StoredSchema,
    table_defaults: Mapping[str, Any],
    progress: TableProgress,
    describe_jobs: Callable[[str], AbstractContextManager[None]],
) -> tuple[dict[str, list[TablePart]], StoredSchema]:
    """Normalize all tables; return their parts by root table, and the schema after them."""
    roots: dict[str, list[TablePart]] = {}
    names = {table: context.naming.normalize_tables_path(table) for table in inputs}
    if context.replay is not None and QUARANTINE_TABLE in names:
        # Rows that are refused again follow the entries that remove them.
        names = {QUARANTINE_TABLE: names.pop(QUARANTINE_TABLE), **names}
    progress.queue(names.values())
    for table, name in names.items():
        progress.begin(name)
        # Each input meets the schema after the one before it, as if they were separate loads.
        for table_input in inputs[table]:
            # Tables that exist are truncated, others created.
            creates_table = bool(table_input.table.creates_table)
            if not table_input.folders and creates_table == has_seen_data(schema, name):
                continue
            schema = with_root_table(schema, name, table_input.table, context.table_extras, table_defaults)
            options = options_of_table(context.options, context.capabilities, schema.tables[name])
            if context.replay is not None:
                options = options_of_replay(options, table)
            table_context = replace(context, options=options)
            with describe_jobs(name):
                parts = list(_normalize_table(table_context, table_input, name, schema))
            for part in parts:
                roots.setdefault(part.report.table, []).append(part)
                schema = part.schema
                progress.add_rows(part.report.row_counts)
        progress.end()
    return roots, schema


def _normalize_table(
    context: PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TablePart]:
    if not table_input.folders:
        return _normalize_empty(context, table_input, table, schema)
    normalize_input = normalize_rows if table_input.columns is None else normalize_frames
    return normalize_input(context, table_input, table, schema)


def _normalize_empty(
    context: PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TablePart]:
    """Write an empty dataset for a table that is truncated or created: loads need no special case."""
    profile = RowProfile(evidence=(Evidence(path=(), type="object"),))
    decision = decide(schema, table, profile.evidence, context.options).check()
    small_parts = write_small_tables(context, decision, profile, {}, schema, table_input.table)
    if small_parts:
        yield from small_parts
        return
    layout = plan_layout(decision, profile)
    dataset = write_dataset(context, context.spark.createDataFrame([], layout.columns), layout)
    yield table_part(decision, dataset, schema, table)


def _origins(roots: Mapping[str, Sequence[TablePart]]) -> Iterator[ColumnOrigin]:
    """Return the origins of all parts; the parts of one input share a decision."""
    return iter(
        dict.fromkeys(origin for parts in roots.values() for part in parts for origin in part.origins)
    )


def _schema_after(schema: Schema, stored: StoredSchema, roots: Mapping[str, Sequence[TablePart]]) -> Schema:
    after = schema.clone()
    names = dict.fromkeys(
        plan.table.name for parts in roots.values() for part in parts for plan in part.plans
    )
    after.update(stored.with_tables(stored.tables[name].with_seen_data() for name in names))
    return after


def _describe_folders(
    context: PackageContext, roots: Mapping[str, Sequence[TablePart]]
) -> dict[str, DataFolder]:
    """Describe the files of all folders by listings, without opening a file."""
    datasets = [part.dataset for parts in roots.values() for part in parts]
    flat = {flat.folder.path: flat.folder for dataset in datasets for flat in dataset.flat_files.values()}
    folders = [folder for dataset in datasets for folder in dataset.folders if folder not in flat]
    with context.stopwatch("describe"):
        listed = list_folders(context.package.store, folders)
        return flat | {path: DataFolder.described(path, data_files(sizes)) for path, sizes in listed.items()}
