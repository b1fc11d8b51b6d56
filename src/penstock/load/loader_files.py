"""Writes the rows of a job as files, for destinations that load files instead of Spark frames."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from penstock.load.plan import file_count
from penstock.package import LoaderFiles
from penstock.package.job_file import read_job_file
from penstock.package.layout import DATA_FOLDER, LOADER_FILES_FOLDER
from penstock.package.loader_files import find_loader_files
from penstock.schema import spark_type
from penstock.schema.spark_sql import quote_name
from penstock.spark.file_format import FileFormat, codec_for
from penstock.spark.paths import spark_path
from penstock.spark.sqltext import check_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.package import Package
    from penstock.schema import Table


def write_loader_files(
    package: Package,
    job_path: str,
    table: Table,
    file_format: FileFormat,
    *,
    file_size: int | None,
    spark: SparkSession,
) -> None:
    """Write the rows of a job to files with all columns of the table, and record them in the package.

    Files that an earlier attempt completed are not written again. `job_path` is relative to the package;
    `file_size` is the wanted size in bytes.
    """
    job = read_job_file(package.store, job_path)
    job_id = job.name.job_id()
    if find_loader_files(package.store, job_id) is not None:
        return
    folder = f"{DATA_FOLDER}/{LOADER_FILES_FOLDER}/{job_id}/{uuid.uuid4().hex[:12]}"
    codec = codec_for(table, file_format)
    rows = _with_all_columns(job.frame(spark), table, spark)
    files = file_count([part.data.bytes for part in job.parts], file_size)
    rows = rows.selectExpr(*codec.write_expressions(table))
    writer = (rows if files is None else rows.repartition(files)).write.mode("overwrite")
    options = codec.write_options(is_compressed=False)
    writer.format(codec.spark_format).options(**options).save(spark_path(package.store.path(folder)))
    names = sorted(name for name in package.store.names(folder) if name[0] not in "._")
    paths = tuple(package.store.path(f"{folder}/{name}") for name in names)
    LoaderFiles(file_format=file_format, paths=paths).save(package.store, job_id)


def _with_all_columns(rows: DataFrame, table: Table, spark: SparkSession) -> DataFrame:
    """Return the rows with null in the columns of the table that this load has no values for."""
    expressions = [
        quote_name(column.name)
        if column.name in rows.columns
        else f"CAST(NULL AS {spark_type(column)}) AS {quote_name(column.name)}"
        for column in table.complete_columns()
    ]
    check_texts(expressions, spark=spark)
    return rows.selectExpr(*expressions)
