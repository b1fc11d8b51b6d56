"""Reads and writes of plain files: the only module of the package that starts jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from penstock.destinations.lake.rows import with_missing_columns
from penstock.package.sql import quote_name
from penstock.schema import spark_type
from penstock.schema.spark_types import NESTED_TYPE_HINT
from penstock.spark.conf import temporary_conf
from penstock.spark.observation import observe_frame
from penstock.spark.paths import spark_path
from penstock.spark.session import missing_conf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.filesystem.table_log import DataFiles
    from penstock.package.storage import FileStorage
    from penstock.schema import Column, Table
    from penstock.spark.file_format import FileCodec

# A layout with one name for each load needs one file, whatever limit the user sets.
_ONE_FILE_CONF: Final = {"spark.sql.files.maxRecordsPerFile": "0"}
MAX_FILES_BY_PATH: Final = 32
"""Up to this number files are read by their paths; for more, Spark lists a folder."""


def write_rows(
    rows: DataFrame, table: Table, codec: FileCodec, address: str, *, one_file: bool, is_compressed: bool
) -> int | None:
    """Write rows into a folder, and return their number; None if Spark did not count them."""
    observed, observation = observe_frame(
        with_missing_columns(rows, table).selectExpr(*codec.write_expressions(table))
    )
    frame = observed.coalesce(1) if one_file else observed
    with temporary_conf(rows.sparkSession, _ONE_FILE_CONF if one_file else {}):
        writer = frame.write.mode("overwrite").options(**codec.write_options(is_compressed=is_compressed))
        writer.format(codec.spark_format).save(spark_path(address))
    return observation.rows()


def count_rows(rows: DataFrame) -> int:
    """Return the number of rows."""
    return rows.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Reads the files of a table in a session."""

    store: FileStorage
    folder: str | None
    """A folder with files of this table only; None if the layout has none."""
    columns: Sequence[Column]
    spark: SparkSession

    def frame(self, files: DataFiles) -> DataFrame:
        """Return all rows of these files, with all columns."""
        groups: dict[FileCodec, list[str]] = {}
        for key, form in files.items():
            groups.setdefault(form, []).append(key)
        frames = [self._read_group(form, keys) for form, keys in groups.items()]
        return (
            reduce(lambda merged, frame: merged.unionByName(frame), frames) if frames else self._empty_frame()
        )

    def _read_group(self, codec: FileCodec, keys: list[str]) -> DataFrame:
        reader = self.spark.read.schema(codec.read_schema(self.columns)).format(codec.spark_format)
        # Path segments such as `day=1` are not columns of the table.
        reader = reader.options(**codec.read_options(), recursiveFileLookup="true")
        reader = reader.options(**missing_conf(self.store.hadoop_conf, self.spark))
        names = {key.rsplit("/", 1)[-1] for key in keys}
        is_inside = self.folder is not None and all(key.startswith(f"{self.folder}/") for key in keys)
        if self.folder is None or not is_inside or len(keys) <= MAX_FILES_BY_PATH or len(names) < len(keys):
            rows = reader.load([spark_path(self.store.path(key)) for key in keys])
        else:
            folder = reader.option("pathGlobFilter", f"*.{codec.format}*").load(
                spark_path(self.store.path(self.folder))
            )
            rows = folder.where(F.col("_metadata.file_name").isin(sorted(names)))
        return rows.select(*(_read_column(codec, column).alias(column.name) for column in self.columns))

    def _empty_frame(self) -> DataFrame:
        return self.spark.createDataFrame([], ", ".join(map(_column_ddl, self.columns)))


def _read_column(codec: FileCodec, column: Column) -> SparkColumn:
    """Return a column of the table, by the Column API: settings of the user's session may change SQL text."""
    sql_type = spark_type(column)
    stored = F.col(quote_name(column.name)) if codec.has_column(column) else F.lit(None)
    if NESTED_TYPE_HINT in column.hints and codec.format == "csv":
        return F.from_json(stored, sql_type)
    if not codec.has_column(column):
        return stored.cast(sql_type)
    return F.unbase64(stored) if codec.format == "csv" and column.data_type == "binary" else stored


def _column_ddl(column: Column) -> str:
    return f"{quote_name(column.name)} {spark_type(column)}"
