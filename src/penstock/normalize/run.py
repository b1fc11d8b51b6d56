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
from penstock.interfaces.columns import NO_COLUMN
from penstock.interfaces.progress import Collector
from penstock.normalize.aside import quarantined, rows_aside
from penstock.normalize.heads import number_of, read_head
from penstock.normalize.jobs import Part, add_jobs, written_bytes
from penstock.normalize.known import is_seen, terms_of, with_declared, with_root
from penstock.normalize.landed import can_stay, file_columns
from penstock.normalize.learn import learn
from penstock.normalize.left import Normalized
from penstock.normalize.leftover import has_unfit
from penstock.normalize.plan import doubts, keeps_whole, strict_fractions
from penstock.normalize.readings import Reading, readings_of
from penstock.normalize.refusals import KEYLESS, counts_of, left_out, refused_nested
from penstock.normalize.report import (
    NormalizeReport,
    Reject,
    joined_reports,
    rejects_of,
)
from penstock.normalize.rowids import Hashing, hashing_of, typed_content
from penstock.normalize.settings import NormalizeConfiguration
from penstock.normalize.shaped import Outcome, Shaped, part_of
from penstock.normalize.sizes import list_sizes
from penstock.normalize.steps import fit_rows, identify_rows, parse_rows, stamp_rows
from penstock.normalize.stopwatch import Stopwatch
from penstock.normalize.stored import Dataset, Object, dataset_of
from penstock.normalize.telling import TablesTold
from penstock.normalize.typed import typed_files, with_digits, with_kept
from penstock.normalize.verify import Check, is_odd
from penstock.package import DataFolder, Package
from penstock.package.extracted import Extracted
from penstock.schema import Evidence, decide
from penstock.schema.frozen import FrozenMap, thaw
from penstock.spark.folders import folder_facts, folder_of
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.normalize.learn import Form, Learned
    from penstock.package.extracted import ExtractedTable
    from penstock.schema import Decision, NamingConvention, Path, Schema, StoredSchema
    from penstock.schema.terms import Terms
    from penstock.schema.types import DataType

_MOST_ROUNDS: Final = 8
# Rows that surprised are looked at by the driver; there may be any number of them.
_MOST_LOOKED_AT: Final = 1_000
_LONGEST_LOOKED_AT: Final = 100_000
_ODD, _REFUSED, _KEYLESS = "odd", "refused", "keyless"
_IS_ODD: Final = "raw IS NOT NULL AND raw.rule IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What all root tables of a package have in common."""

    package: Package
    spark: SparkSession
    terms: Terms
    naming: NamingConvention
    table_extras: Mapping[str, Any]
    folders: Iterator[str]
    quarantine: bool
    clock: Stopwatch

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
    emptied: Sequence[ExtractedTable] = (),
) -> Normalized:
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
    extracted = Extracted.from_dict(package.extracted())
    told = TablesTold(collector or Collector())
    work = _Work(
        package=package,
        spark=spark,
        terms=terms_of(naming, extracted.contract, merge_strategy=merge_strategy, can_alter=can_alter),
        naming=naming,
        table_extras=table_extras,
        folders=folders,
        quarantine=(settings or NormalizeConfiguration()).quarantine,
        clock=Stopwatch(told.step),
    )
    stored = with_declared(schema.stored, extracted)
    roots: dict[str, list[Part]] = {}
    found = readings_of(extracted.tables, emptied)
    told.wait(naming.normalize_tables_path(name) for name in found)
    for table, readings in found.items():
        told.begin(naming.normalize_tables_path(table))
        # Each reading sees what the ones before it made of the table, as if they were loads.
        for reading in readings:
            name = naming.normalize_tables_path(reading.table.table)
            if not reading.folders and not is_seen(stored, name):
                continue
            stored = with_root(stored, name, reading.table, table_extras, table_defaults)
            read = _reader(reading)
            for outcome in list(read(work, reading, name, stored)):
                roots.setdefault(outcome.root, []).append(outcome.part)
                stored = outcome.schema
                told.hear(outcome.part.report.row_counts)
        told.end()
    after = schema.clone()
    seen = [plan.table.name for parts in roots.values() for part in parts for plan in part.plans]
    after.update(stored.with_tables(stored.tables[name].with_seen_data() for name in dict.fromkeys(seen)))
    # Without a single row there is no folder: such a package brings nothing but state.
    with work.clock("describe"):
        described = _describe_folders(
            work, [path for parts in roots.values() for one in parts for path in one.folders]
        )
    sizes = written_bytes(roots, described)
    entries = [entry for parts in roots.values() for entry in add_jobs(package, parts, described, attempt)]
    report = NormalizeReport(
        load_id=package.load_id,
        roots=tuple(joined_reports([part.report for part in parts]) for parts in roots.values()),
        seconds=time.monotonic() - started,
        steps=work.clock.steps(sizes),
        bytes_in=sum(table.bytes for table in extracted.tables),
        bytes_out=sum(sizes.values()),
    )
    return Normalized(
        tables=tuple(entries),
        folders=tuple(described.values()),
        schema=after,
        report=report,
    )


def _reader(reading: Reading) -> Callable[[_Work, Reading, str, StoredSchema], Iterator[Outcome]]:
    if not reading.folders:
        return _read_nothing
    return _read_rows if reading.columns is None else _read_typed


def _read_nothing(work: _Work, reading: Reading, table: str, stored: StoredSchema) -> Iterator[Outcome]:
    """A table that is left without a row has a dataset like any other: whoever loads it need not know."""
    del reading
    decision = decide(stored, table, [Evidence(path=(), type="object")], work.terms).check()
    dataset = Dataset(Object(fields={}))
    shaped = _written(work, work.spark.createDataFrame([], dataset.columns), dataset)
    yield Outcome(root=table, part=part_of(decision, shaped, stored, table), schema=decision.schema)


def _read_rows(work: _Work, reading: Reading, table: str, stored: StoredSchema) -> Iterator[Outcome]:
    """Shape rows of JSON by what their first ones are like; rows that are not like that in another round."""
    with work.clock("learn"):
        head = read_head(work.package.store, reading.folders, rows=reading.rows)
    learned, is_all = head.learned, head.is_all
    texts = stamp_rows(_texts(work, reading), load_id=work.package.load_id)
    shaped: list[Shaped] = []
    decision = decide(stored, table, learned.evidence, work.terms).check()
    for number in range(_MOST_ROUNDS):
        rows = identify_rows(texts, hashing_of(decision, work.naming))
        shaped.append(_shape(work, rows, decision, learned, is_all=is_all))
        if not number:
            _check_count(reading, shaped[0])
        if not shaped[-1].odd:
            break
        rest = work.spark.read.schema(shaped[-1].dataset.columns).parquet(work.address(shaped[-1].folder))
        rest = rest.where(_IS_ODD).select("id", "raw.text", "raw.file", "raw.position")
        with work.clock("look again"):
            more = _look_at(rest, reading, most=_MOST_LOOKED_AT << number)
        known, learned = learned, learned.joined(*more)
        if learned.knows_no_more_than(known):
            break
        texts, is_all = rest, len(more) == shaped[-1].odd
        decision = decide(stored, table, learned.evidence, work.terms).check()
    is_exact = learned.rows == reading.rows
    for one in shaped:
        rejects = rejects_of(decision) if is_exact and one is shaped[0] else ()
        if decision.refusals and not is_exact:
            rejects = _counted_rejects(work, one, decision)
        left = one.odd if one is shaped[-1] else 0
        part = part_of(decision, one, stored, table)
        rejects = (*part.report.rejects, *rejects)
        report = replace(part.report, rows_in=one.rows - one.odd + left, rejects=rejects, put_aside=left)
        yield Outcome(root=table, part=replace(part, report=report), schema=decision.schema)
    yield from _put_aside(work, shaped, reading, decision)


def _look_at(rest: DataFrame, reading: Reading, *, most: int) -> list[Learned]:
    """Look at the first of the rows that surprised; very long ones only where there are no others."""
    ordered = rest.orderBy("file", "position")
    found = ordered.where(F.octet_length("text") <= _LONGEST_LOOKED_AT).limit(most).collect()
    return [
        learn([row["text"]], start=number_of(row["file"], row["position"], reading.folders))
        for row in found or ordered.limit(1).collect()
    ]


def _counted_rejects(work: _Work, shaped: Shaped, decision: Decision) -> tuple[Reject, ...]:
    """What was refused, counted by Spark: there is a job for it only where a contract refuses anything."""
    found = counts_of(decision, shaped.dataset)
    if not found:
        return ()
    nested = work.spark.read.schema(shaped.dataset.columns).parquet(work.address(shaped.folder))
    sums = [F.expr(counting).alias(f"n{index}") for index, (_, counting) in enumerate(found)]
    with work.clock("count"):
        counts = nested.agg(*sums).collect()[0]
    counted = [replace(refusal, count=counts[index] or 0) for index, (refusal, _) in enumerate(found)]
    return rejects_of(replace(decision, refusals=tuple(one for one in counted if one.count)))


def _read_typed(work: _Work, reading: Reading, table: str, stored: StoredSchema) -> Iterator[Outcome]:
    """Shape rows whose types are known before anybody looks at them."""
    columns = reading.columns or {}
    keep = stored.tables[table].extras.get("x-nested") == "keep"
    files = typed_files(columns, rows=reading.rows, keep=keep)
    decision = decide(stored, table, files.evidence, work.terms).check()
    decision = with_kept(with_digits(decision, files.digits, work.naming), files.kept)
    whole = typed_files(
        columns,
        rows=reading.rows,
        is_whole=lambda path, form: keeps_whole(decision, path, form),
        keep=keep,
    )
    if can_stay(reading, whole.dataset, decision):
        found = _counted(work, reading, columns)
        stays = Shaped(folders=reading.folders, dataset=whole.dataset, rows=found, landed=columns)
        _check_count(reading, stays)
        yield Outcome(root=table, part=part_of(decision, stays, stored, table), schema=decision.schema)
        return
    known = StructType.fromJson(thaw(columns))
    held = known if known.fields else StructType().add(NO_COLUMN, BooleanType())
    there = work.spark.read.schema(held).parquet(*_addresses(work, reading))
    rows = fit_rows(
        there, whole.dataset, columns, left_out(decision, whole.dataset, hashing_of(decision, work.naming))
    )
    stamped = stamp_rows(rows, load_id=work.package.load_id)
    content = typed_content(decision, whole.dataset, work.naming)
    if content is not None:
        stamped = identify_rows(stamped.withColumn("text", F.expr(content)), Hashing())
    shaped = _written(work, stamped.select("id", "raw", "row"), whole.dataset)
    _check_count(reading, shaped)
    part = part_of(decision, shaped, stored, table)
    rejects = _counted_rejects(work, shaped, decision) if decision.refusals else ()
    report = replace(part.report, rejects=(*part.report.rejects, *rejects))
    yield Outcome(root=table, part=replace(part, report=report), schema=decision.schema)
    yield from _put_aside(work, [shaped], reading, decision)


def _counted(work: _Work, reading: Reading, columns: Mapping[str, Any]) -> int:
    """How many rows stand in the files, as those who load them see it; by what files say of themselves."""
    files = work.spark.read.schema(file_columns(columns)).parquet(*_addresses(work, reading))
    with work.clock("count"):
        return int(files.agg(F.count(F.lit(1))).collect()[0][0])


def _shape(work: _Work, texts: DataFrame, decision: Decision, learned: Learned, *, is_all: bool) -> Shaped:
    """Write a nested dataset in one job, and find in it the rows that it does not stand for."""

    def is_whole(path: Path, form: Form) -> bool:
        return keeps_whole(decision, path, form)

    dataset = dataset_of(learned.forms, is_whole, strict_fractions(decision))
    doubtful = doubts(decision, dataset)

    def check(corrupt: str) -> Check:
        if is_all and not learned.unreadable:
            return Check(odd=has_unfit(doubtful, row="row", corrupt=corrupt))
        return is_odd(
            dataset,
            learned.forms,
            doubtful,
            is_whole=is_whole,
            text="text",
            row="row",
            corrupt=corrupt,
            has_strangers=learned.unreadable > 0,
        )

    unwanted = left_out(decision, dataset, hashing_of(decision, work.naming))
    rows = parse_rows(texts, dataset, check, unwanted).select("id", "raw", "row")
    return _written(work, rows, dataset)


def _written(work: _Work, rows: DataFrame, dataset: Dataset, *, step: str = "shape") -> Shaped:
    """Write a nested dataset, and count what is in it."""
    folder = next(work.folders)
    lists = dict(enumerate(list_sizes(dataset).items()))
    sums = {
        _ODD: F.count_if(F.expr(_IS_ODD)),
        _REFUSED: F.count("raw.rule"),
        _KEYLESS: F.count_if(F.col("raw.rule") == KEYLESS),
    }
    sums |= {
        f"list{n}": F.sum(F.expr(f"CASE WHEN raw IS NULL THEN {size} END")) for n, (_, size) in lists.items()
    }
    written, counts = observed(rows, sums)
    with work.clock(step):
        written.write.mode("overwrite").parquet(work.address(folder))
        found = counts.values()
        if found is None:
            again = work.spark.read.schema(dataset.columns).parquet(work.address(folder))
            every = {"rows": F.count(F.lit(1)), **sums}
            found = again.agg(*(column.alias(name) for name, column in every.items())).collect()[0].asDict()
    return Shaped(
        folders=(folder,),
        dataset=dataset,
        rows=found["rows"],
        odd=found[_ODD],
        refused=found[_REFUSED],
        keyless=found[_KEYLESS],
        sizes={path: found[f"list{n}"] or 0 for n, (path, _) in lists.items()},
    )


def _put_aside(work: _Work, shaped: list[Shaped], reading: Reading, decision: Decision) -> Iterator[Outcome]:
    """Write rows that are refused, or that nothing could be made of, to the table of rows put aside."""
    after = decision.schema
    for one in shaped if work.quarantine else ():
        with_odd = one is shaped[-1]
        if not (one.refused or (one.odd and with_odd) or refused_nested(decision, one.dataset)):
            continue
        aside = quarantined(after, reading.table, work.terms, work.table_extras)
        nested = work.spark.read.schema(one.dataset.columns).parquet(work.address(one.folder))
        rows = rows_aside(nested, aside, decision, one.dataset, with_odd=with_odd)
        there = _written(work, rows, aside.dataset, step="put aside")
        if there.rows:
            part = part_of(aside.decision, there, after, aside.table)
            after = aside.decision.schema
            yield Outcome(root=aside.table, part=part, schema=after)


def _check_count(reading: Reading, shaped: Shaped) -> None:
    if shaped.rows != reading.rows:
        raise InternalError(
            f"{reading.rows} rows of {reading.table.table} went in and {shaped.rows} came out",
            hint="keep the package folder and report this",
        )


def _texts(work: _Work, reading: Reading) -> DataFrame:
    # Reads with a given schema: otherwise Spark runs a job to find it in the files.
    files = work.spark.read.schema("row STRING").parquet(*_addresses(work, reading))
    return files.select(
        F.col("row").alias("text"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )


def _addresses(work: _Work, reading: Reading) -> list[str]:
    return [work.address(folder) for folder in reading.folders]


def _describe_folders(work: _Work, folders: Sequence[str]) -> dict[str, DataFolder]:
    """Count and hash the files of all folders in one job; no file is opened."""
    if not folders:
        return {}
    reader = work.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    files = reader.load([work.address(one) for one in folders]).select("path", "length")
    inside = f"/packages/{work.package.load_id}/"
    facts = files.groupBy(folder_of("path", inside)).agg(*folder_facts()).collect()
    return {
        row["folder"]: DataFolder(path=row[0], files=row[1], bytes=row[2], digest=row[3]) for row in facts
    }
