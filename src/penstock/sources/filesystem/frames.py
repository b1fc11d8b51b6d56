"""Lazy DataFrames over files: typed ones for CSV and Parquet, text for JSONL."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.interfaces.frame_engine import QuarantiningFrame
from penstock.package import tags
from penstock.package.quarantine import ROOT_PATH, UNREADABLE_RULE
from penstock.package.sql import quote_name
from penstock.sources.current import spark
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.headers import csv_headers, parquet_columns
from penstock.sources.filesystem.plan import (
    check_names,
    column_names,
    group_by_columns,
    group_by_header,
    has_timezone,
    is_nanoseconds,
    pattern_above,
)
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation
    from penstock.sources.filesystem.plan import ColumnTypes, Format

FILE_COLUMN, ROW_COLUMN = "_file", "_row"
"""The columns with the file of a row and its number in the file."""
_QUARANTINE_COLUMN, _CORRUPT_COLUMN = "_penstock_aside", "_penstock_corrupt"
_PATH_COLUMN, _BLOCK_COLUMN, _POSITION_COLUMN = "_penstock_path", "_penstock_block", "_penstock_at"
_ROW_NUMBER_COLUMN: Final = "_penstock_row"
NANOS_AS_LONG: Final = {"spark.sql.legacy.parquet.nanosAsLong": "true"}
"""The configuration to read timestamps in nanoseconds; without it Spark rejects the files."""
_READ_OPTIONS: Final = {
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
_MAX_RAW_CHARACTERS: Final = 10_000
_WRONG_FIELD_COUNT: Final = "it has another number of fields than the header"
_REPLACEMENT_CHARACTER: Final = "\ufffd"
_MAYBE_NOT_UTF8: Final = "it is not UTF-8, or contains the character U+FFFD"
_NOT_UTF8, _NOT_JSON = "it is not UTF-8", "it is not a JSON object"
_WHITESPACE: Final = " \t\r\n\ufeff"
# The opening quote of a text that begins with a tag character, plain or escaped. Excludes quotes within a
# text, which follow a backslash, and quotes of keys, which precede a colon.
_JSON_STRING_REST: Final = r'[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TAG: Final = rf"(?:[{tags.FIRST}-{tags.LAST}]|\\u[fF]02[6-9a-fA-F])"
_MAY_HAVE_TAG: Final = f'"{_TAG}'
_HAS_TAG: Final = rf'(?<!\\)"(?={_TAG})(?!{_JSON_STRING_REST}\s*+:)'
# Integers beyond 64 bits, which JSON readers turn into null, so they are tagged as in Python rows.
# The length check excludes most numbers cheaply.
_BIG_INTEGER: Final = (
    rf"(?<![0-9.eE+-])(?=-?[0-9]{{19}})(?:{pattern_above(2**63 - 1)}|-{pattern_above(2**63)})(?![0-9.eE])"
)
# From number to number, skipping whole texts: digits within a text are not a number.
_HAS_BIG_INTEGER: Final = (
    rf'\G((?:[^"0-9-]++|"{_JSON_STRING_REST}|(?!{_BIG_INTEGER})[0-9-])*+)({_BIG_INTEGER})'
)
_MAX_CHARACTERS_WITH_BIG_INTEGER: Final = 50_000
_TOO_LONG: Final = "it has an integer beyond 64 bits and is longer than 50,000 characters"


def csv_frame(
    spark: SparkSession,
    location: FolderLocation,
    files: Sequence[ListedFile],
    header: Sequence[str],
    *,
    options: CsvOptions,
    metadata: bool,
) -> QuarantiningFrame:
    """Return the frame of CSV files with the same header; quarantine lines with a wrong number of fields."""
    paths = [location.spark_path(file.path) for file in files]
    names = column_names(header)
    reader = spark.read.options(**options.reader_options(), **_READ_OPTIONS)
    types: list[Any] = [StringType()] * len(names)
    if options.infer:
        inferred = reader.options(inferSchema="true", preferDate="true").csv(paths).schema
        types = [field.dataType for field in inferred.fields][: len(names)]
        types += [StringType()] * (len(names) - len(types))
    schema = StructType([StructField(name, data_type) for name, data_type in zip(names, types, strict=True)])
    reader = reader.options(columnNameOfCorruptRecord=_CORRUPT_COLUMN).schema(
        schema.add(_CORRUPT_COLUMN, StringType())
    )
    rows = _with_position(reader.csv(paths))
    columns = [F.col(quote_name(name)) for name in names]
    line = F.concat_ws(options.delimiter, *(column.cast("string") for column in columns))
    # Spark refuses a query for the corrupt column alone, and otherwise only checks the selected columns. So
    # an empty part of all columns is added, in a way that the optimizer does not remove.
    raw = F.concat(F.col(_CORRUPT_COLUMN), line.substr(1, 0))
    quarantine = F.when(F.col(_CORRUPT_COLUMN).isNotNull(), _quarantine_value(F.lit(_WRONG_FIELD_COUNT), raw))
    texts = [column for column, data_type in zip(columns, types, strict=True) if data_type == StringType()]
    if options.is_utf8 and texts:
        # Spark's reader replaces invalid bytes by this character.
        is_broken = F.concat_ws("", *texts).contains(_REPLACEMENT_CHARACTER)
        quarantine = quarantine.when(is_broken, _quarantine_value(F.lit(_MAYBE_NOT_UTF8), line))
    quarantine_rows = partial(_quarantine_rows, _with_row_number(rows), quarantine, location)
    if metadata:
        rows = _with_row_number(rows)
        columns = [
            *columns,
            _file_url(location).alias(FILE_COLUMN),
            F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN),
        ]
    return QuarantiningFrame(
        rows.select(*columns, quarantine.alias(_QUARANTINE_COLUMN)),
        quarantine_column=_QUARANTINE_COLUMN,
        quarantine_rows=quarantine_rows,
    )


def jsonl_frame(
    spark: SparkSession, location: FolderLocation, files: Sequence[ListedFile], *, metadata: bool
) -> QuarantiningFrame:
    """Return the frame of JSON lines as text, which normalize reads by the same rules as Python rows."""
    paths = [location.spark_path(file.path) for file in files]
    # Lines are numbered before empty ones are removed.
    lines = _with_position(spark.read.options(**_READ_OPTIONS).text(paths))
    value = F.col("value")
    is_line = F.trim(value, F.lit(_WHITESPACE)) != ""
    # Digits may be part of a text: the expensive second check only runs after the first one matches.
    has_big = value.rlike(_BIG_INTEGER) & F.regexp_replace(value, f'"{_JSON_STRING_REST}', '""').rlike(
        _BIG_INTEGER
    )
    is_too_long = (F.length(value) > _MAX_CHARACTERS_WITH_BIG_INTEGER) & has_big
    reason = F.when(~F.is_valid_utf8(value), _NOT_UTF8).when(~_is_json_object(value), _NOT_JSON)
    reason = reason.when(is_too_long, _TOO_LONG)
    quarantine = F.when(is_line & reason.isNotNull(), _quarantine_value(reason, F.make_valid_utf8(value)))
    quarantine_rows = partial(_quarantine_rows, _with_row_number(lines), quarantine, location)
    text = _with_tagged_integers(_with_escaped_tags(value))
    if metadata:
        lines, text = _with_row_number(lines), _with_file_and_row(text, location)
    return QuarantiningFrame(
        lines.where(is_line).select(text.alias("row"), quarantine.alias(_QUARANTINE_COLUMN)),
        quarantine_column=_QUARANTINE_COLUMN,
        quarantine_rows=quarantine_rows,
        is_text=True,
    )


def parquet_frame(
    spark: SparkSession,
    location: FolderLocation,
    files: Sequence[ListedFile],
    columns: ColumnTypes,
    *,
    merge: bool,
    metadata: bool,
) -> DataFrame:
    """Return the frame of Parquet files with compatible columns. The session needs `NANOS_AS_LONG`."""
    reader = spark.read.options(**_READ_OPTIONS, mergeSchema=str(merge).lower())
    frame = reader.parquet(*(location.spark_path(file.path) for file in files))
    if metadata:
        path, row = (
            F.col("_metadata.file_path").alias(_PATH_COLUMN),
            F.col("_metadata.row_index").alias(ROW_COLUMN),
        )
        frame = frame.select("*", path, row).withColumn(FILE_COLUMN, _file_url(location)).drop(_PATH_COLUMN)
    timestamps = {
        name: _timestamp(name, data_type) for name, data_type in columns if is_nanoseconds(data_type)
    }
    return frame.withColumns(timestamps) if timestamps else frame


def _timestamp(name: str, data_type: str) -> Column:
    """Return nanoseconds as a timestamp. The session is in UTC, so the cast keeps the local time."""
    timestamp = F.timestamp_micros(F.call_function("div", F.col(quote_name(name)), F.lit(1000)))
    return timestamp if has_timezone(data_type) else timestamp.cast("timestamp_ntz")


def _with_position(frame: DataFrame) -> DataFrame:
    """Add the file of each row, the block that a task reads, and the position in the block."""
    return frame.select(
        "*",
        F.col("_metadata.file_path").alias(_PATH_COLUMN),
        F.col("_metadata.file_block_start").alias(_BLOCK_COLUMN),
        F.monotonically_increasing_id().alias(_POSITION_COLUMN),
    )


def _with_row_number(frame: DataFrame) -> DataFrame:
    """Add the number of each row in its file, from 0.

    The files are read a second time to count the rows of the preceding blocks; no row is shuffled.
    """
    # Prefixed, because files may have columns of any name.
    of_path, of_block = "_penstock_of_path", "_penstock_of_block"
    first, rows, offset = "_penstock_first", "_penstock_rows", "_penstock_before"
    blocks = frame.groupBy(_PATH_COLUMN, _BLOCK_COLUMN).agg(
        F.min(_POSITION_COLUMN).alias(first), F.count(F.lit(1)).alias(rows)
    )
    rows_before = F.expr(
        f"sum({rows}) OVER (PARTITION BY {_PATH_COLUMN} ORDER BY {_BLOCK_COLUMN}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    starts = blocks.select(
        F.col(_PATH_COLUMN).alias(of_path),
        F.col(_BLOCK_COLUMN).alias(of_block),
        first,
        F.coalesce(rows_before, F.lit(0)).alias(offset),
    )
    is_same_block = (F.col(_PATH_COLUMN) == F.col(of_path)) & (F.col(_BLOCK_COLUMN) == F.col(of_block))
    joined = frame.join(F.broadcast(starts), is_same_block)
    number = F.col(offset) + F.col(_POSITION_COLUMN) - F.col(first)
    return joined.withColumn(_ROW_NUMBER_COLUMN, number.cast("long")).drop(of_path, of_block, first, offset)


def _file_url(location: FolderLocation) -> Column:
    """Return the URL of the file without the escapes and the Hadoop scheme that Spark uses."""
    decoded = F.url_decode(F.replace(F.col(_PATH_COLUMN), F.lit("+"), F.lit("%2B")))
    if location.is_local:
        return F.regexp_replace(decoded, "^file:/+", "/")
    relative_path = F.substring(decoded, len(spark_path(location.root)) + 1, 10_000)
    return F.concat(F.lit(location.root), relative_path)


def _quarantine_value(reason: Column, raw: Column) -> Column:
    return F.struct(reason.alias("reason"), raw.substr(1, _MAX_RAW_CHARACTERS).alias("raw"))


def _quarantine_rows(
    numbered_rows: DataFrame, quarantine_value: Column, location: FolderLocation, resource: str, table: str
) -> DataFrame:
    """Return the quarantined rows in the form of the quarantine table."""
    number = F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN)
    rejected = numbered_rows.select(
        quarantine_value.alias("why"), _file_url(location).alias("file"), number
    ).where(F.col("why").isNotNull())
    fields = {
        "resource_name": F.lit(resource),
        "table_name": F.lit(table),
        "path": F.lit(ROOT_PATH),
        "rule": F.lit(UNREADABLE_RULE),
        "item": F.col(ROW_COLUMN),
        "reason": F.concat(F.col("why.reason"), F.lit(", in "), F.col("file")),
        "raw": F.col("why.raw"),
    }
    row = F.to_json(F.struct(*(value.alias(name) for name, value in fields.items())))
    return rejected.select(_with_escaped_tags(row).alias("row"))


def _is_json_object(value: Column) -> Column:
    """Return whether a text is a JSON object, by a cheap check; normalize checks again."""
    starts_with_brace = F.ltrim(value, F.lit(_WHITESPACE)).startswith("{")
    # The first function is faster, but rejects duplicate keys.
    is_json = F.try_parse_json(value).isNotNull() | F.get_json_object(value, "$").isNotNull()
    return starts_with_brace & is_json


def _with_escaped_tags(text: Column) -> Column:
    """Escape texts that begin with a tag character."""
    escaped = F.regexp_replace(text, _HAS_TAG, f'"{tags.ESCAPED_TEXT}')
    return F.when(text.rlike(_MAY_HAVE_TAG), escaped).otherwise(text)


def _with_tagged_integers(text: Column) -> Column:
    tagged = F.regexp_replace(text, _HAS_BIG_INTEGER, f'$1"{tags.WEI}$2"')
    return F.when(
        (F.length(text) <= _MAX_CHARACTERS_WITH_BIG_INTEGER) & text.rlike(_BIG_INTEGER), tagged
    ).otherwise(text)


def _with_file_and_row(text: Column, location: FolderLocation) -> Column:
    origin = F.to_json(
        F.struct(_file_url(location).alias(FILE_COLUMN), F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN))
    )
    rest = F.ltrim(F.ltrim(text, F.lit(_WHITESPACE)).substr(F.lit(2), F.length(text)), F.lit(_WHITESPACE))
    start = F.concat(origin.substr(F.lit(1), F.length(origin) - 1))
    return F.concat(start, F.when(rest.startswith("}"), F.lit("")).otherwise(F.lit(",")), rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFileReader:
    """Reads batches of files as few DataFrames: files with the same header are read by one job."""

    format: Format
    csv: CsvOptions = field(default_factory=CsvOptions)
    metadata: bool = False

    def frames(
        self, location: FolderLocation, files: Sequence[ListedFile]
    ) -> Iterator[tuple[Any, tuple[ListedFile, ...]]]:
        """Yield frames, each with the files that it reads. Files without rows are in no frame."""
        # Sorted, because the first files decide the columns.
        files = sorted(files, key=lambda file: file.path)
        check_names(
            (file.path for file in files), on_disk=location.is_local, is_text=self.format != "parquet"
        )
        format_conf = NANOS_AS_LONG if self.format == "parquet" else {}
        session = spark({**location.hadoop_conf, **format_conf})
        match self.format:
            case "jsonl":
                non_empty = tuple(file for file in files if file.size)
                if non_empty:
                    yield jsonl_frame(session, location, non_empty, metadata=self.metadata), non_empty
            case "csv":
                headers = [self.csv.group_header(names) for names in csv_headers(location, files, self.csv)]
                for group in group_by_header(files, headers):
                    frame = csv_frame(
                        session,
                        location,
                        group.files,
                        group.header,
                        options=self.csv,
                        metadata=self.metadata,
                    )
                    yield frame, group.files
            case "parquet":
                columns = parquet_columns(location, files)
                for group in group_by_columns(files, columns):
                    merge = len({header for header in columns if header is not None}) > 1
                    parquet = parquet_frame(
                        session, location, group.files, group.header, merge=merge, metadata=self.metadata
                    )
                    yield parquet, group.files
            case _:
                assert_never(self.format)
