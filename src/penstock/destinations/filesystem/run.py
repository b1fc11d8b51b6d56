"""Rows become files in a package, and files become frames: the only file of the room that starts jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from penstock.destinations.lake.rows import completed
from penstock.package.sql import quoted
from penstock.schema import spark_type
from penstock.schema.sparktypes import NESTED_TYPE
from penstock.spark.conf import conf_set
from penstock.spark.observe import observed
from penstock.spark.paths import spark_path
from penstock.spark.session import untold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.form import Form
    from penstock.destinations.filesystem.log import Files
    from penstock.package.storage import FileStorage
    from penstock.schema import Column, Table

# Spark's own default is a form that others cannot read all moments from.
_MICROSECONDS: Final = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
# However the user cuts files, one name is for one file.
_UNCUT: Final = {"spark.sql.files.maxRecordsPerFile": "0"}
FEW: Final = 32
"""Spark looks up so many files one by one; beyond that a folder is listed."""


def write_rows(
    rows: DataFrame, table: Table, form: Form, address: str, *, one_file: bool, is_compressed: bool
) -> int | None:
    """Write rows into a folder; gives how many there were, None where nobody counted."""
    counted, seen = observed(completed(rows, table).selectExpr(*form.written(table)))
    whole = counted.coalesce(1) if one_file else counted
    rules = {**_MICROSECONDS, **(_UNCUT if one_file else {})}
    with conf_set(rows.sparkSession, rules):
        writer = whole.write.mode("overwrite").options(**form.write_options(is_compressed=is_compressed))
        writer.format(form.source).save(spark_path(address))
    return seen.rows()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The files of a table, read in a session."""

    store: FileStorage
    folder: str | None
    """A folder that has nothing but files of the table in it, if there is one."""
    columns: Sequence[Column]
    spark: SparkSession

    def frame(self, files: Files) -> DataFrame:
        """All rows of these files, with all columns."""
        groups: dict[Form, list[str]] = {}
        for key, form in files.items():
            groups.setdefault(form, []).append(key)
        frames = [self._of_form(form, keys) for form, keys in groups.items()]
        return reduce(lambda one, other: one.unionByName(other), frames) if frames else self._empty()

    def _of_form(self, form: Form, keys: list[str]) -> DataFrame:
        reader = self.spark.read.schema(form.schema(self.columns)).format(form.source)
        # Names such as `day=1` in a path are not columns of the table.
        reader = reader.options(**form.read_options(), recursiveFileLookup="true")
        reader = reader.options(**untold(self.store.hadoop_conf, self.spark))
        names = {key.rsplit("/", 1)[-1] for key in keys}
        is_inside = self.folder is not None and all(key.startswith(f"{self.folder}/") for key in keys)
        if self.folder is None or not is_inside or len(keys) <= FEW or len(names) < len(keys):
            found = reader.load([spark_path(self.store.path(key)) for key in keys])
        else:
            folder = reader.option("pathGlobFilter", f"*.{form.format}*").load(
                spark_path(self.store.path(self.folder))
            )
            found = folder.where(F.col("_metadata.file_name").isin(sorted(names)))
        return found.select(*(_read_column(form, one).alias(one.name) for one in self.columns))

    def _empty(self) -> DataFrame:
        return self.spark.createDataFrame([], ", ".join(_ddl(one) for one in self.columns))


def _read_column(form: Form, column: Column) -> SparkColumn:
    """A column of the table, by the Column API: the session is the user's, and may change SQL text."""
    kind = spark_type(column)
    if NESTED_TYPE in column.hints and form.format == "csv":
        return F.from_json(F.col(quoted(column.name)) if form.has(column) else F.lit(None), kind)
    if not form.has(column):
        return F.lit(None).cast(kind)
    found = F.col(quoted(column.name))
    return F.unbase64(found) if form.format == "csv" and column.data_type == "binary" else found


def _ddl(column: Column) -> str:
    return f"{quoted(column.name)} {spark_type(column)}"
