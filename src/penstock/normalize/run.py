"""Learns the shape of raw rows, writes them typed, and leaves job files that point to them."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType

from penstock.errors import InternalError
from penstock.interfaces.file_schema import PLACEHOLDER_COLUMN
from penstock.interfaces.progress import Collector
from penstock.normalize.jobs import NormalizedPart, add_jobs, written_bytes
from penstock.normalize.nested_counts import list_sizes
from penstock.normalize.nested_layout import NestedLayout, Object, build_layout
from penstock.normalize.normalized import NormalizedPackage
from penstock.normalize.passthrough import can_pass_through, file_columns
from penstock.normalize.plan import is_kept_as_json, strict_fractions, uncertain_values
from penstock.normalize.prior_schema import (
    has_seen_data,
    inference_options,
    with_declared_tables,
    with_root_table,
)
from penstock.normalize.profile import profile_rows
from penstock.normalize.progress import TableProgress
from penstock.normalize.quarantine import quarantine_table, quarantined_rows
from penstock.normalize.refusals import KEYLESS_RULE, excluded_rows, refusal_counts, refused_nested_rows
from penstock.normalize.report import (
    NormalizeReport,
    Reject,
    contract_rejects,
    merged_report,
)
from penstock.normalize.rowids import RowHashSpec, row_hash_spec, typed_hash_input
from penstock.normalize.sample import read_sample, row_number
from penstock.normalize.settings import NormalizeConfiguration
from penstock.normalize.steps import add_row_ids, hash_row_ids, pack_rows, parse_rows
from penstock.normalize.stopwatch import Stopwatch
from penstock.normalize.table_inputs import TableInput, table_inputs
from penstock.normalize.typed_files import typed_files, with_decimal_precision, with_nested_types
from penstock.normalize.unexpected.row_check import RowCheck, unexpected_row_check
from penstock.normalize.unexpected.unconvertible import has_unconvertible
from penstock.normalize.written_dataset import TableResult, WrittenDataset, normalized_part
from penstock.package import DataFolder, Package
from penstock.package.extract_manifest import ExtractManifest
from penstock.schema import Evidence, decide
from penstock.schema.frozen_map import FrozenMap, thaw
from penstock.spark.folders import folder_aggregates, folder_column
from penstock.spark.observation import observe_frame
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.normalize.profile import JsonForm, RowProfile
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.schema import Decision, NamingConvention, Schema, StoredSchema, ValuePath
    from penstock.schema.inference_options import InferenceOptions
    from penstock.schema.types import DataType

_MAX_ROUNDS: Final = 8
# Rows that surprised are looked at by the driver; there may be any number of them.
_MAX_PROFILED_ROWS: Final = 1_000
_MAX_PROFILED_LENGTH: Final = 100_000
_UNEXPECTED, _REFUSED, _KEYLESS = "odd", "refused", "keyless"
_IS_UNEXPECTED: Final = "raw IS NOT NULL AND raw.rule IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackageContext:
    """What all root tables of a package have in common."""

    package: Package
    spark: SparkSession
    options: InferenceOptions
    naming: NamingConvention
    table_extras: Mapping[str, Any]
    new_folders: Iterator[str]
    quarantine: bool
    stopwatch: Stopwatch

    def address(self, folder: str) -> str:
        return spark_path(f"{self.package.path}/{folder}")


def normalize(  # noqa: PLR0913 - everything that a run decides about normalization
    package: Package,
    schema: Schema,
    *,
    spark: SparkSession,
    naming: NamingConvention,
    table_extras: Mapping[str, Any],
    table_defaults: Mapping[str, Any] = FrozenMap[Any](),
    settings: NormalizeConfiguration | None = None,
    merge_strategy: str | None = None,
    can_alter: frozenset[tuple[DataType, DataType]] = frozenset(),
    collector: Collector | None = None,
    truncated: Sequence[ExtractedTable] = (),
) -> NormalizedPackage:
    """Give every extracted table its final shape, and its nested tables.

    `table_extras` are said of every table, `table_defaults` of those that do not say it themselves.
    `merge_strategy` is what the destination does where a table is merged and does not say how; `can_alter`
    has the types that it changes into one another. `emptied` are tables that are left without a row;
    `collector` is told how far it is.

    Safe to run again: each attempt writes to a folder of its own. It counts once `leave` has marked it.
    """
    started = time.monotonic()
    attempt = uuid.uuid4().hex[:12]
    folders = (f"data/normalized/{attempt}/{number:05d}" for number in count())
    extracted = ExtractManifest.from_dict(package.read_extracted())
    told = TableProgress(collector or Collector())
    work = _PackageContext(
        package=package,
        spark=spark,
        options=inference_options(
            naming, extracted.contract, merge_strategy=merge_strategy, can_alter=can_alter
        ),
        naming=naming,
        table_extras=table_extras,
        new_folders=folders,
        quarantine=(settings or NormalizeConfiguration()).quarantine,
        stopwatch=Stopwatch(told.step),
    )
    stored = with_declared_tables(schema.stored, extracted)
    roots: dict[str, list[NormalizedPart]] = {}
    found = table_inputs(extracted.tables, truncated)
    told.queue(naming.normalize_tables_path(name) for name in found)
    for table, readings in found.items():
        told.begin(naming.normalize_tables_path(table))
        # Each reading sees what the ones before it made of the table, as if they were loads.
        for reading in readings:
            name = naming.normalize_tables_path(reading.table.table)
            if not reading.folders and not has_seen_data(stored, name):
                continue
            stored = with_root_table(stored, name, reading.table, table_extras, table_defaults)
            read = _normalizer_for(reading)
            for outcome in list(read(work, reading, name, stored)):
                roots.setdefault(outcome.root, []).append(outcome.part)
                stored = outcome.schema
                told.add_rows(outcome.part.report.row_counts)
        told.end()
    after = schema.clone()
    seen = [plan.table.name for parts in roots.values() for part in parts for plan in part.plans]
    after.update(stored.with_tables(stored.tables[name].with_seen_data() for name in dict.fromkeys(seen)))
    # Without a single row there is no folder: such a package brings nothing but state.
    with work.stopwatch("describe"):
        described = _describe_folders(
            work, [path for parts in roots.values() for one in parts for path in one.folders]
        )
    sizes = written_bytes(roots, described)
    entries = [entry for parts in roots.values() for entry in add_jobs(package, parts, described, attempt)]
    report = NormalizeReport(
        load_id=package.load_id,
        roots=tuple(merged_report([part.report for part in parts]) for parts in roots.values()),
        seconds=time.monotonic() - started,
        steps=work.stopwatch.steps(sizes),
        bytes_in=sum(table.bytes for table in extracted.tables),
        bytes_out=sum(sizes.values()),
    )
    return NormalizedPackage(
        tables=tuple(entries),
        folders=tuple(described.values()),
        schema=after,
        report=report,
    )


def _normalizer_for(
    table_input: TableInput,
) -> Callable[[_PackageContext, TableInput, str, StoredSchema], Iterator[TableResult]]:
    if not table_input.folders:
        return _normalize_empty
    return _normalize_rows if table_input.columns is None else _normalize_typed


def _normalize_empty(
    context: _PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TableResult]:
    """A table that is left without a row has a dataset like any other: whoever loads it need not know."""
    del table_input
    decision = decide(schema, table, [Evidence(path=(), type="object")], context.options).check()
    dataset = NestedLayout(Object(fields={}))
    shaped = _write_dataset(context, context.spark.createDataFrame([], dataset.columns), dataset)
    yield TableResult(
        root=table, part=normalized_part(decision, shaped, schema, table), schema=decision.schema
    )


def _normalize_rows(
    context: _PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TableResult]:
    """Shape rows of JSON by what their first ones are like; rows that are not like that in another round."""
    with context.stopwatch("learn"):
        head = read_sample(context.package.store, table_input.folders, rows=table_input.rows)
    learned, is_all = head.profile, head.is_complete
    texts = add_row_ids(_read_texts(context, table_input), load_id=context.package.load_id)
    shaped: list[WrittenDataset] = []
    decision = decide(schema, table, learned.evidence, context.options).check()
    for number in range(_MAX_ROUNDS):
        rows = hash_row_ids(texts, row_hash_spec(decision, context.naming))
        shaped.append(_parse_and_write(context, rows, decision, learned, is_complete=is_all))
        if not number:
            _check_count(table_input, shaped[0])
        if not shaped[-1].unexpected:
            break
        rest = context.spark.read.schema(shaped[-1].layout.columns).parquet(
            context.address(shaped[-1].folder)
        )
        rest = rest.where(_IS_UNEXPECTED).select("id", "raw.text", "raw.file", "raw.position")
        with context.stopwatch("look again"):
            more = _profile_unexpected(rest, table_input, limit=_MAX_PROFILED_ROWS << number)
        known, learned = learned, learned.merged_with(*more)
        if learned.has_same_shape_as(known):
            break
        texts, is_all = rest, len(more) == shaped[-1].unexpected
        decision = decide(schema, table, learned.evidence, context.options).check()
    is_exact = learned.rows == table_input.rows
    for one in shaped:
        rejects = contract_rejects(decision) if is_exact and one is shaped[0] else ()
        if decision.refusals and not is_exact:
            rejects = _count_rejects(context, one, decision)
        left = one.unexpected if one is shaped[-1] else 0
        part = normalized_part(decision, one, schema, table)
        rejects = (*part.report.rejects, *rejects)
        report = replace(
            part.report, rows_in=one.rows - one.unexpected + left, rejects=rejects, put_aside=left
        )
        yield TableResult(root=table, part=replace(part, report=report), schema=decision.schema)
    yield from _write_quarantine(context, shaped, table_input, decision)


def _profile_unexpected(unexpected: DataFrame, table_input: TableInput, *, limit: int) -> list[RowProfile]:
    """Look at the first of the rows that surprised; very long ones only where there are no others."""
    ordered = unexpected.orderBy("file", "position")
    found = ordered.where(F.octet_length("text") <= _MAX_PROFILED_LENGTH).limit(limit).collect()
    return [
        profile_rows([row["text"]], start=row_number(row["file"], row["position"], table_input.folders))
        for row in found or ordered.limit(1).collect()
    ]


def _count_rejects(
    context: _PackageContext, dataset: WrittenDataset, decision: Decision
) -> tuple[Reject, ...]:
    """What was refused, counted by Spark: there is a job for it only where a contract refuses anything."""
    found = refusal_counts(decision, dataset.layout)
    if not found:
        return ()
    nested = context.spark.read.schema(dataset.layout.columns).parquet(context.address(dataset.folder))
    sums = [F.expr(counting).alias(f"n{index}") for index, (_, counting) in enumerate(found)]
    with context.stopwatch("count"):
        counts = nested.agg(*sums).collect()[0]
    counted = [replace(refusal, count=counts[index] or 0) for index, (refusal, _) in enumerate(found)]
    return contract_rejects(replace(decision, refusals=tuple(one for one in counted if one.count)))


def _normalize_typed(
    context: _PackageContext, table_input: TableInput, table: str, schema: StoredSchema
) -> Iterator[TableResult]:
    """Shape rows whose types are known before anybody looks at them."""
    columns = table_input.columns or {}
    keep = schema.tables[table].extras.get("x-nested") == "keep"
    files = typed_files(columns, rows=table_input.rows, keep_nested=keep)
    decision = decide(schema, table, files.evidence, context.options).check()
    decision = with_nested_types(
        with_decimal_precision(decision, files.precisions, context.naming), files.nested_types
    )
    whole = typed_files(
        columns,
        rows=table_input.rows,
        kept_as_json=lambda path, form: is_kept_as_json(decision, path, form),
        keep_nested=keep,
    )
    if can_pass_through(table_input, whole.layout, decision):
        found = _count_rows(context, table_input, columns)
        stays = WrittenDataset(
            folders=table_input.folders, layout=whole.layout, rows=found, passthrough_columns=columns
        )
        _check_count(table_input, stays)
        yield TableResult(
            root=table, part=normalized_part(decision, stays, schema, table), schema=decision.schema
        )
        return
    known = StructType.fromJson(thaw(columns))
    held = known if known.fields else StructType().add(PLACEHOLDER_COLUMN, BooleanType())
    there = context.spark.read.schema(held).parquet(*_addresses(context, table_input))
    rows = pack_rows(
        there,
        whole.layout,
        columns,
        excluded_rows(decision, whole.layout, row_hash_spec(decision, context.naming)),
    )
    stamped = add_row_ids(rows, load_id=context.package.load_id)
    content = typed_hash_input(decision, whole.layout, context.naming)
    if content is not None:
        stamped = hash_row_ids(stamped.withColumn("text", F.expr(content)), RowHashSpec())
    shaped = _write_dataset(context, stamped.select("id", "raw", "row"), whole.layout)
    _check_count(table_input, shaped)
    part = normalized_part(decision, shaped, schema, table)
    rejects = _count_rejects(context, shaped, decision) if decision.refusals else ()
    report = replace(part.report, rejects=(*part.report.rejects, *rejects))
    yield TableResult(root=table, part=replace(part, report=report), schema=decision.schema)
    yield from _write_quarantine(context, [shaped], table_input, decision)


def _count_rows(context: _PackageContext, table_input: TableInput, columns: Mapping[str, Any]) -> int:
    """How many rows stand in the files, as those who load them see it; by what files say of themselves."""
    files = context.spark.read.schema(file_columns(columns)).parquet(*_addresses(context, table_input))
    with context.stopwatch("count"):
        return int(files.agg(F.count(F.lit(1))).collect()[0][0])


def _parse_and_write(
    context: _PackageContext, texts: DataFrame, decision: Decision, profile: RowProfile, *, is_complete: bool
) -> WrittenDataset:
    """Write a nested dataset in one job, and find in it the rows that it does not stand for."""

    def is_whole(path: ValuePath, form: JsonForm) -> bool:
        return is_kept_as_json(decision, path, form)

    dataset = build_layout(profile.forms, is_whole, strict_fractions(decision))
    doubtful = uncertain_values(decision, dataset)

    def check(corrupt: str) -> RowCheck:
        if is_complete and not profile.unreadable:
            return RowCheck(unexpected=has_unconvertible(doubtful, row="row", corrupt=corrupt))
        return unexpected_row_check(
            dataset,
            profile.forms,
            doubtful,
            kept_as_json=is_whole,
            text="text",
            row="row",
            corrupt=corrupt,
            has_invalid_json=profile.unreadable > 0,
        )

    unwanted = excluded_rows(decision, dataset, row_hash_spec(decision, context.naming))
    rows = parse_rows(texts, dataset, check, unwanted).select("id", "raw", "row")
    return _write_dataset(context, rows, dataset)


def _write_dataset(
    context: _PackageContext, rows: DataFrame, layout: NestedLayout, *, step: str = "shape"
) -> WrittenDataset:
    """Write a nested dataset, and count what is in it."""
    folder = next(context.new_folders)
    lists = dict(enumerate(list_sizes(layout).items()))
    sums = {
        _UNEXPECTED: F.count_if(F.expr(_IS_UNEXPECTED)),
        _REFUSED: F.count("raw.rule"),
        _KEYLESS: F.count_if(F.col("raw.rule") == KEYLESS_RULE),
    }
    sums |= {
        f"list{n}": F.sum(F.expr(f"CASE WHEN raw IS NULL THEN {size} END")) for n, (_, size) in lists.items()
    }
    written, counts = observe_frame(rows, sums)
    with context.stopwatch(step):
        written.write.mode("overwrite").parquet(context.address(folder))
        found = counts.values()
        if found is None:
            again = context.spark.read.schema(layout.columns).parquet(context.address(folder))
            every = {"rows": F.count(F.lit(1)), **sums}
            found = again.agg(*(column.alias(name) for name, column in every.items())).collect()[0].asDict()
    return WrittenDataset(
        folders=(folder,),
        layout=layout,
        rows=found["rows"],
        unexpected=found[_UNEXPECTED],
        refused=found[_REFUSED],
        keyless=found[_KEYLESS],
        list_sizes={path: found[f"list{n}"] or 0 for n, (path, _) in lists.items()},
    )


def _write_quarantine(
    context: _PackageContext, datasets: list[WrittenDataset], table_input: TableInput, decision: Decision
) -> Iterator[TableResult]:
    """Write rows that are refused, or that nothing could be made of, to the table of rows put aside."""
    after = decision.schema
    for one in datasets if context.quarantine else ():
        with_odd = one is datasets[-1]
        if not (one.refused or (one.unexpected and with_odd) or refused_nested_rows(decision, one.layout)):
            continue
        aside = quarantine_table(after, table_input.table, context.options, context.table_extras)
        nested = context.spark.read.schema(one.layout.columns).parquet(context.address(one.folder))
        rows = quarantined_rows(nested, aside, decision, one.layout, with_unexpected=with_odd)
        there = _write_dataset(context, rows, aside.layout, step="put aside")
        if there.rows:
            part = normalized_part(aside.decision, there, after, aside.table)
            after = aside.decision.schema
            yield TableResult(root=aside.table, part=part, schema=after)


def _check_count(table_input: TableInput, dataset: WrittenDataset) -> None:
    if dataset.rows != table_input.rows:
        raise InternalError(
            f"{table_input.rows} rows of {table_input.table.table} went in and {dataset.rows} came out",
            hint="keep the package folder and report this",
        )


def _read_texts(context: _PackageContext, table_input: TableInput) -> DataFrame:
    # Reads with a given schema: otherwise Spark runs a job to find it in the files.
    files = context.spark.read.schema("row STRING").parquet(*_addresses(context, table_input))
    return files.select(
        F.col("row").alias("text"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )


def _addresses(context: _PackageContext, table_input: TableInput) -> list[str]:
    return [context.address(folder) for folder in table_input.folders]


def _describe_folders(context: _PackageContext, folders: Sequence[str]) -> dict[str, DataFolder]:
    """Count and hash the files of all folders in one job; no file is opened."""
    if not folders:
        return {}
    reader = context.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    files = reader.load([context.address(one) for one in folders]).select("path", "length")
    inside = f"/packages/{context.package.load_id}/"
    facts = files.groupBy(folder_column("path", inside)).agg(*folder_aggregates()).collect()
    return {
        row["folder"]: DataFolder(path=row[0], files=row[1], bytes=row[2], digest=row[3]) for row in facts
    }
