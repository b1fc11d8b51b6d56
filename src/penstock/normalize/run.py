"""Learns the shape of raw rows, writes them typed, and leaves job files that point to them."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType

from penstock.errors import InternalError, RowsNotReadable
from penstock.interfaces.columns import NO_COLUMN
from penstock.normalize.jobs import Part, add_jobs, normalized_document
from penstock.normalize.kinds import Question, Seen, questions
from penstock.normalize.plan import RootHints, plan_tables
from penstock.normalize.readings import Reading, readings_of
from penstock.normalize.report import NormalizeInfo, joined_reports, root_report
from penstock.normalize.shape import group_of, nested_schema
from penstock.normalize.steps import fit_rows, parse_rows, stamp_rows
from penstock.normalize.tree import Node, Object, ordered_like, parse_tree, pruned
from penstock.normalize.typed import tree_of
from penstock.package import DataFolder, Package, TableEntry
from penstock.package.extracted import Extracted
from penstock.schema import unique_names
from penstock.schema.frozen import thaw
from penstock.spark.folders import folder_facts, folder_of
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.package.extracted import ExtractedTable
    from penstock.schema import NamingConvention, Schema

# An example row tells the order of keys; a longer one is not worth sending to the driver.
_LONGEST_EXAMPLE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """A package ready to be sealed: its tables, children before their root, and the schema after it."""

    tables: tuple[TableEntry, ...]
    folders: tuple[DataFolder, ...]
    schema: Schema
    info: NormalizeInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What all root tables of a package have in common."""

    package: Package
    spark: SparkSession
    naming: NamingConvention
    table_extras: Mapping[str, Any]


def normalize(
    package: Package,
    schema: Schema,
    *,
    spark: SparkSession,
    naming: NamingConvention,
    table_extras: Mapping[str, Any],
) -> Normalized:
    """Give every extracted table its final shape, and its nested tables.

    Safe to run again: each attempt writes to a folder of its own.
    """
    started = time.monotonic()
    work = _Work(package=package, spark=spark, naming=naming, table_extras=table_extras)
    attempt = uuid.uuid4().hex[:12]
    after = schema.clone()
    roots: list[list[Part]] = []
    folders_of = (f"data/normalized/{attempt}/{number:05d}" for number in count())
    for readings in readings_of(Extracted.from_dict(package.extracted()).tables).values():
        # Each reading sees what the ones before it made of the table, as if they were loads.
        parts = []
        for reading in readings:
            parts.append(_normalize_reading(work, reading, next(folders_of), after))
            for plan in parts[-1].plans:
                after.update_table(plan.table)
        roots.append(parts)
    # Without a single row there is no folder: such a package brings nothing but state.
    folders = _describe_folders(package, f"data/normalized/{attempt}", spark) if roots else {}
    entries = [entry for parts in roots for entry in add_jobs(package, parts, folders, attempt)]
    package.save_schema(dict(after.to_dict()))
    package.mark_normalized(normalized_document(entries, folders))
    info = NormalizeInfo(
        load_id=package.load_id,
        roots=tuple(joined_reports([part.report for part in parts]) for parts in roots),
        seconds=time.monotonic() - started,
    )
    return Normalized(tables=tuple(entries), folders=tuple(folders.values()), schema=after, info=info)


def _normalize_reading(work: _Work, reading: Reading, folder: str, schema: Schema) -> Part:
    package, naming, table = work.package, work.naming, reading.table

    def name_keys(keys: Sequence[str]) -> Mapping[str, str]:
        return unique_names(keys, naming, fold_case=True)

    if reading.columns is None:
        raw = _raw_rows(package, reading, work.spark)
        tree = _learn(raw, table, package)
        rows = parse_rows(raw, tree, name_keys)
    else:
        tree = tree_of(reading.columns)
        rows = fit_rows(_typed_files(package, reading, work.spark), tree, name_keys, reading.columns)
    data = spark_path(f"{package.path}/{folder}")
    rows_out = _shape(rows, data, load_id=package.load_id)
    if rows_out is not None and rows_out != reading.rows:
        raise InternalError(
            f"{reading.rows} rows of {table.table} went in and {rows_out} came out",
            hint="keep the package folder and report this",
        )
    root = group_of(tree, name_keys)
    columns = nested_schema(tree, name_keys)
    seen = _ask(questions(root), work.spark.read.schema(columns).parquet(data))
    hints = RootHints(
        table=naming.normalize_tables_path(table.table),
        resource=table.resource,
        write_disposition=table.write_disposition,
        extras=work.table_extras,
    )
    plans = plan_tables(root, hints, seen, stored=schema.tables, naming=naming)
    report = root_report(plans, schema, rows_in=reading.rows, rows_out=rows_out)
    return Part(folder=folder, plans=plans, columns=columns, report=report)


def _raw_rows(package: Package, reading: Reading, spark: SparkSession) -> DataFrame:
    # Reads with a given schema: otherwise Spark runs a job to find it in the files.
    files = spark.read.schema("row STRING").parquet(*_addresses(package, reading))
    return files.select(
        "row", F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("position")
    )


def _typed_files(package: Package, reading: Reading, spark: SparkSession) -> DataFrame:
    known = StructType.fromJson(thaw(reading.columns))
    columns = known if known.fields else StructType().add(NO_COLUMN, BooleanType())
    return spark.read.schema(columns).parquet(*_addresses(package, reading))


def _addresses(package: Package, reading: Reading) -> list[str]:
    return [spark_path(f"{package.path}/{folder}") for folder in reading.folders]


def _learn(raw: DataFrame, table: ExtractedTable, package: Package) -> Node:
    """One aggregate over all rows: their common type, and the first row for the order of its keys."""
    parsed = raw.withColumn("value", F.try_parse_json("row"))
    unreadable = F.col("value").isNull()
    short = F.when(F.length("row") <= _LONGEST_EXAMPLE, F.col("row"))
    found = parsed.agg(
        F.schema_of_variant_agg("value").alias("type"),
        F.min_by(short, F.struct("file", "position")).alias("first"),
        F.count_if(unreadable).alias("unreadable"),
        F.min(F.when(unreadable, F.substring("row", 1, 200))).alias("example"),
    ).collect()[0]
    if found["unreadable"]:
        raise RowsNotReadable(
            table=table.table,
            rows=found["unreadable"],
            example=found["example"],
            package=package.path,
        )
    first = orjson.loads(found["first"]) if found["first"] else None
    return ordered_like(pruned(parse_tree(found["type"])) or Object(()), first)


def _shape(rows: DataFrame, data: str, *, load_id: str) -> int | None:
    """Write the nested dataset in one job; gives the number of rows, or None when Spark did not say."""
    shaped, seen = observed(stamp_rows(rows, load_id=load_id))
    shaped.write.mode("overwrite").parquet(data)
    return seen.rows()


def _ask(asked: Sequence[Question], nested: DataFrame) -> dict[tuple[tuple[str, ...], ...], Seen]:
    """One aggregate for all values whose type is in doubt."""
    if not asked:
        return {}
    columns = [F.expr(question.sql()).alias(f"q{index}") for index, question in enumerate(asked)]
    answers = nested.agg(*columns).collect()[0]
    return {question.key: Seen(answers[index] or 0) for index, question in enumerate(asked)}


def _describe_folders(package: Package, attempt: str, spark: SparkSession) -> dict[str, DataFolder]:
    """Count and hash the files of all folders of an attempt in one job; no file is opened."""
    files = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        .load(spark_path(f"{package.path}/{attempt}"))
        .select("path", "length")
    )
    found = {row["folder"]: row for row in files.groupBy(folder_of("path")).agg(*folder_facts()).collect()}
    return {
        f"{attempt}/{name}": DataFolder(
            path=f"{attempt}/{name}", files=row["files"], bytes=row["bytes"], digest=row["digest"]
        )
        for name, row in found.items()
    }
