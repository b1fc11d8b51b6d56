"""Learns the shape of raw rows, writes them typed, and leaves job files that point to them."""

from __future__ import annotations

import time
import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import orjson
from pyspark.sql import functions as F

from penstock.errors import InternalError, RowsNotReadable
from penstock.normalize.kinds import Question, Seen, questions
from penstock.normalize.plan import RootHints, TablePlan, plan_tables
from penstock.normalize.report import NormalizeInfo, RootReport
from penstock.normalize.shape import group_of, nested_schema
from penstock.normalize.steps import parse_rows, stamp_rows
from penstock.normalize.tree import Node, Object, ordered_like, parse_tree, pruned
from penstock.package import DataFolder, JobFile, Package, ParsedLoadJobFileName, TableEntry
from penstock.package.extracted import Extracted
from penstock.package.ids import file_id
from penstock.schema import unique_names
from penstock.spark.folders import folder_facts, folder_of
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.normalize.shape import NameKeys
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
class _Root:
    """One root table: its plans, root first, and the columns of the nested dataset they project from."""

    folder: str
    plans: list[TablePlan]
    columns: str
    report: RootReport


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
    attempt = uuid.uuid4().hex[:12]
    after = schema.clone()
    roots: list[_Root] = []
    for index, table in enumerate(Extracted.from_dict(package.extracted()).tables):
        if not table.rows:
            continue
        folder = f"data/normalized/{attempt}/{index:05d}"
        root = _normalize_root(
            package, table, folder, after, spark=spark, naming=naming, table_extras=table_extras
        )
        for plan in root.plans:
            after.update_table(plan.table)
        roots.append(root)
    # Without a single row there is no folder: such a package brings nothing but state.
    folders = _describe_folders(package, f"data/normalized/{attempt}", spark) if roots else {}
    entries = [
        _add_job(package, plan, root, folders[root.folder], attempt)
        for root in roots
        for plan in reversed(root.plans)
    ]
    package.save_schema(dict(after.to_dict()))
    package.mark_normalized(_normalized_document(entries, folders))
    info = NormalizeInfo(
        load_id=package.load_id,
        roots=tuple(root.report for root in roots),
        seconds=time.monotonic() - started,
    )
    return Normalized(tables=tuple(entries), folders=tuple(folders.values()), schema=after, info=info)


def _normalize_root(
    package: Package,
    table: ExtractedTable,
    folder: str,
    schema: Schema,
    *,
    spark: SparkSession,
    naming: NamingConvention,
    table_extras: Mapping[str, Any],
) -> _Root:
    raw = _raw_rows(package, table.folders, spark)
    tree = _learn(raw, table, package)

    def name_keys(keys: Sequence[str]) -> Mapping[str, str]:
        return unique_names(keys, naming, fold_case=True)

    data = spark_path(f"{package.path}/{folder}")
    rows_out = _shape(raw, tree, name_keys, data, load_id=package.load_id)
    if rows_out is not None and rows_out != table.rows:
        raise InternalError(
            f"{table.rows} rows of {table.table} went in and {rows_out} came out",
            hint="keep the package folder and report this",
        )
    root = group_of(tree, name_keys)
    columns = nested_schema(tree, name_keys)
    seen = _ask(questions(root), spark.read.schema(columns).parquet(data))
    hints = RootHints(
        table=naming.normalize_tables_path(table.table),
        resource=table.resource,
        write_disposition=table.write_disposition,
        extras=table_extras,
    )
    plans = plan_tables(root, hints, seen, stored=schema.tables, naming=naming)
    return _Root(folder=folder, plans=plans, columns=columns, report=_report(plans, table, rows_out, schema))


def _raw_rows(package: Package, folders: Sequence[str], spark: SparkSession) -> DataFrame:
    # Reads with a given schema: otherwise Spark runs a job to find it in the files.
    paths = [spark_path(f"{package.path}/{folder}") for folder in folders]
    files = spark.read.schema("row STRING").parquet(*paths)
    return files.select(
        "row", F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("position")
    )


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


def _shape(raw: DataFrame, tree: Node, name_keys: NameKeys, data: str, *, load_id: str) -> int | None:
    """Write the nested dataset in one job; gives the number of rows, or None when Spark did not say."""
    shaped, count = observed(stamp_rows(parse_rows(raw, tree, name_keys), load_id=load_id))
    shaped.write.mode("overwrite").parquet(data)
    return count.rows()


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


def _normalized_document(entries: Sequence[TableEntry], folders: Mapping[str, DataFolder]) -> dict[str, Any]:
    """What the marker says. Tables that share a folder are each given its size once, at their root."""
    roots = {entry.data: entry.job for entry in entries}
    jobs = [
        {
            "job_id": ParsedLoadJobFileName.parse(entry.job).job_id(),
            "rows": entry.rows,
            "bytes": folders[entry.data].bytes if entry.data and roots[entry.data] == entry.job else 0,
        }
        for entry in entries
    ]
    return {
        "tables": [asdict(entry) for entry in entries],
        "folders": [folder.to_dict() for folder in folders.values()],
        "jobs": jobs,
    }


def _add_job(package: Package, plan: TablePlan, root: _Root, folder: DataFolder, attempt: str) -> TableEntry:
    table = plan.table.name
    name = ParsedLoadJobFileName(table, file_id(package.load_id, attempt, table), 0, "reference")
    package.add_job(
        JobFile(
            name=name,
            load_id=package.load_id,
            package_path=package.path,
            data=folder,
            columns=root.columns,
            projection=plan.projection,
            rows=root.report.rows_out if plan is root.plans[0] else None,
        )
    )
    return TableEntry(
        table=table,
        job=name.file_name(),
        write_disposition=plan.table.write_disposition or "append",
        data=folder.path,
        rows=root.report.rows_out if plan is root.plans[0] else None,
    )


def _report(
    plans: Sequence[TablePlan], extracted: ExtractedTable, rows_out: int | None, schema: Schema
) -> RootReport:
    before = schema.tables
    known = [plan.table for plan in plans if plan.table.name in before]
    return RootReport(
        table=plans[0].table.name,
        rows_in=extracted.rows,
        rows_out=rows_out,
        tables=tuple(plan.table.name for plan in plans),
        new_tables=tuple(plan.table.name for plan in plans if plan.table.name not in before),
        new_columns=tuple(
            (table.name, column)
            for table in known
            for column in table.columns
            if column not in before[table.name].columns
        ),
    )
