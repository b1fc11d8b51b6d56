"""Files become DataFrames: typed ones of CSV and Parquet, texts of JSONL. Nothing runs here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.interfaces.frame_writer import QuarantiningFrame
from penstock.package import tags
from penstock.package.quarantine import ROOT_PATH, UNREADABLE_RULE
from penstock.package.sql import quote_name
from penstock.sources.filesystem.plan import column_names, has_timezone, is_nanoseconds, pattern_above
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from penstock.sources.filesystem.csv_options import CsvOptions
    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation
    from penstock.sources.filesystem.plan import ColumnTypes

FILE_COLUMN, ROW_COLUMN = "_file", "_row"
"""The columns that say where a row stood."""
_QUARANTINE_COLUMN, _CORRUPT_COLUMN = "_penstock_aside", "_penstock_corrupt"
_PATH_COLUMN, _BLOCK_COLUMN, _POSITION_COLUMN = "_penstock_path", "_penstock_block", "_penstock_at"
_ROW_NUMBER_COLUMN: Final = "_penstock_row"
NANOS_AS_LONG: Final = {"spark.sql.legacy.parquet.nanosAsLong": "true"}
"""What a session must be told to read moments in nanoseconds: else it refuses their files."""
_READ_OPTIONS: Final = {
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}
_MAX_RAW_CHARACTERS: Final = 10_000
_WRONG_FIELD_COUNT: Final = "it has another number of fields than the header"
_REPLACEMENT_CHARACTER: Final = "\ufffd"
_MAYBE_NOT_UTF8: Final = "it is no UTF-8, or holds the character U+FFFD"
_NOT_UTF8, _NOT_JSON = "it is no UTF-8", "it is no JSON object"
_WHITESPACE: Final = " \t\r\n\ufeff"
# The quote that opens a text which begins like one of our tags, as a character or escaped. Never the quote
# within a text, which has a backslash before it, and never that of a key, which has a colon behind it.
_JSON_STRING_REST: Final = r'[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TAG: Final = rf"(?:[{tags.FIRST}-{tags.LAST}]|\\u[fF]02[6-9a-fA-F])"
_MAY_HAVE_TAG: Final = f'"{_TAG}'
_HAS_TAG: Final = rf'(?<!\\)"(?={_TAG})(?!{_JSON_STRING_REST}\s*+:)'
# Integers past 64 bits: who reads JSON makes null of them, so they travel as rows of Python have them.
# Most numbers are short, and go by their length.
_BIG_INTEGER: Final = (
    rf"(?<![0-9.eE+-])(?=-?[0-9]{{19}})(?:{pattern_above(2**63 - 1)}|-{pattern_above(2**63)})(?![0-9.eE])"
)
# From number to number, whole texts being passed over: what stands within a text is no number.
_HAS_BIG_INTEGER: Final = (
    rf'\G((?:[^"0-9-]++|"{_JSON_STRING_REST}|(?!{_BIG_INTEGER})[0-9-])*+)({_BIG_INTEGER})'
)
_MAX_CHARACTERS_WITH_BIG_INTEGER: Final = 50_000
_TOO_LONG: Final = "it has an integer past 64 bits and is longer than 50,000 characters"


def csv_frame(
    spark: SparkSession,
    location: FolderLocation,
    files: Sequence[ListedFile],
    header: Sequence[str],
    *,
    options: CsvOptions,
    metadata: bool,
) -> QuarantiningFrame:
    """CSV files with the same header. Lines with another number of fields are put aside."""
    paths = [location.spark_path(one.path) for one in files]
    names = column_names(header)
    reader = spark.read.options(**options.reader_options(), **_READ_OPTIONS)
    kinds: list[Any] = [StringType()] * len(names)
    if options.infer:
        guessed = reader.options(inferSchema="true", preferDate="true").csv(paths).schema
        kinds = [one.dataType for one in guessed.fields][: len(names)]
        kinds += [StringType()] * (len(names) - len(kinds))
    schema = StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
    reader = reader.options(columnNameOfCorruptRecord=_CORRUPT_COLUMN).schema(
        schema.add(_CORRUPT_COLUMN, StringType())
    )
    read = _with_position(reader.csv(paths))
    columns = [F.col(quote_name(name)) for name in names]
    whole = F.concat_ws(options.delimiter, *(column.cast("string") for column in columns))
    # Spark refuses to say what is corrupt where nothing else is asked for, and then says it of the columns
    # that are. Hence nothing of all of them, in a way that no optimizer sees through.
    raw = F.concat(F.col(_CORRUPT_COLUMN), whole.substr(1, 0))
    why = F.when(F.col(_CORRUPT_COLUMN).isNotNull(), _quarantine_value(F.lit(_WRONG_FIELD_COUNT), raw))
    texts = [column for column, kind in zip(columns, kinds, strict=True) if kind == StringType()]
    if options.is_utf8 and texts:
        # Spark's reader has put this character where the bytes were none.
        is_broken = F.concat_ws("", *texts).contains(_REPLACEMENT_CHARACTER)
        why = why.when(is_broken, _quarantine_value(F.lit(_MAYBE_NOT_UTF8), whole))
    told = partial(_quarantine_rows, _with_row_number(read), why, location)
    if metadata:
        read = _with_row_number(read)
        columns = [
            *columns,
            _file_url(location).alias(FILE_COLUMN),
            F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN),
        ]
    return QuarantiningFrame(
        read.select(*columns, why.alias(_QUARANTINE_COLUMN)),
        quarantine_column=_QUARANTINE_COLUMN,
        quarantine_rows=told,
    )


def jsonl_frame(
    spark: SparkSession, location: FolderLocation, files: Sequence[ListedFile], *, metadata: bool
) -> QuarantiningFrame:
    """Lines of JSON as they are, so that they are read by the same rules as rows of Python."""
    paths = [location.spark_path(one.path) for one in files]
    # A line is numbered before empty ones go.
    read = _with_position(spark.read.options(**_READ_OPTIONS).text(paths))
    value = F.col("value")
    is_line = F.trim(value, F.lit(_WHITESPACE)) != ""
    # The second look is dear, and taken only after the first: digits may stand in a text.
    has_big = value.rlike(_BIG_INTEGER) & F.regexp_replace(value, f'"{_JSON_STRING_REST}', '""').rlike(
        _BIG_INTEGER
    )
    is_too_long = (F.length(value) > _MAX_CHARACTERS_WITH_BIG_INTEGER) & has_big
    reason = F.when(~F.is_valid_utf8(value), _NOT_UTF8).when(~_is_json_object(value), _NOT_JSON)
    reason = reason.when(is_too_long, _TOO_LONG)
    why = F.when(is_line & reason.isNotNull(), _quarantine_value(reason, F.make_valid_utf8(value)))
    told = partial(_quarantine_rows, _with_row_number(read), why, location)
    text = _with_tagged_integers(_with_escaped_tags(value))
    if metadata:
        read, text = _with_row_number(read), _with_file_and_row(text, location)
    rows = read.where(is_line).select(text.alias("row"), why.alias(_QUARANTINE_COLUMN))
    return QuarantiningFrame(rows, quarantine_column=_QUARANTINE_COLUMN, quarantine_rows=told, is_text=True)


def parquet_frame(
    spark: SparkSession,
    location: FolderLocation,
    files: Sequence[ListedFile],
    columns: ColumnTypes,
    *,
    merge: bool,
    metadata: bool,
) -> DataFrame:
    """Parquet files whose columns fit together. The session must be told `NANOS_AS_LONG`."""
    reader = spark.read.options(**_READ_OPTIONS, mergeSchema=str(merge).lower())
    frame = reader.parquet(*(location.spark_path(one.path) for one in files))
    if metadata:
        path, row = (
            F.col("_metadata.file_path").alias(_PATH_COLUMN),
            F.col("_metadata.row_index").alias(ROW_COLUMN),
        )
        frame = frame.select("*", path, row).withColumn(FILE_COLUMN, _file_url(location)).drop(_PATH_COLUMN)
    moments = {name: _timestamp(name, kind) for name, kind in columns if is_nanoseconds(kind)}
    return frame.withColumns(moments) if moments else frame


def _timestamp(name: str, data_type: str) -> Column:
    """A number of nanoseconds as what it means. Sessions of ours keep UTC, so a clock on the wall stays."""
    moment = F.timestamp_micros(F.call_function("div", F.col(quote_name(name)), F.lit(1000)))
    return moment if has_timezone(data_type) else moment.cast("timestamp_ntz")


def _with_position(frame: DataFrame) -> DataFrame:
    """Each row with where it stands: the file, the part of it that a task reads, and the place in that."""
    return frame.select(
        "*",
        F.col("_metadata.file_path").alias(_PATH_COLUMN),
        F.col("_metadata.file_block_start").alias(_BLOCK_COLUMN),
        F.monotonically_increasing_id().alias(_POSITION_COLUMN),
    )


def _with_row_number(frame: DataFrame) -> DataFrame:
    """Each row with its number in its file, from 0.

    The files are read a second time, to count the rows of the parts before: no row is moved for it.
    """
    # They stand beside the columns of files, which may have any name.
    of_path, of_block = "_penstock_of_path", "_penstock_of_block"
    first, rows, before = "_penstock_first", "_penstock_rows", "_penstock_before"
    parts = frame.groupBy(_PATH_COLUMN, _BLOCK_COLUMN).agg(
        F.min(_POSITION_COLUMN).alias(first), F.count(F.lit(1)).alias(rows)
    )
    rows_before = F.expr(
        f"sum({rows}) OVER (PARTITION BY {_PATH_COLUMN} ORDER BY {_BLOCK_COLUMN}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    starts = parts.select(
        F.col(_PATH_COLUMN).alias(of_path),
        F.col(_BLOCK_COLUMN).alias(of_block),
        first,
        F.coalesce(rows_before, F.lit(0)).alias(before),
    )
    is_its = (F.col(_PATH_COLUMN) == F.col(of_path)) & (F.col(_BLOCK_COLUMN) == F.col(of_block))
    joined = frame.join(F.broadcast(starts), is_its)
    number = F.col(before) + F.col(_POSITION_COLUMN) - F.col(first)
    return joined.withColumn(_ROW_NUMBER_COLUMN, number.cast("long")).drop(of_path, of_block, first, before)


def _file_url(location: FolderLocation) -> Column:
    """The address of the file, plain: Spark tells it with escapes, and under Hadoop's scheme."""
    plain = F.url_decode(F.replace(F.col(_PATH_COLUMN), F.lit("+"), F.lit("%2B")))
    if location.is_local:
        return F.regexp_replace(plain, "^file:/+", "/")
    below = F.substring(plain, len(spark_path(location.root)) + 1, 10_000)
    return F.concat(F.lit(location.root), below)


def _quarantine_value(reason: Column, raw: Column) -> Column:
    return F.struct(reason.alias("reason"), raw.substr(1, _MAX_RAW_CHARACTERS).alias("raw"))


def _quarantine_rows(
    numbered_rows: DataFrame, quarantine_value: Column, location: FolderLocation, resource: str, table: str
) -> DataFrame:
    """The rows that are put aside, as the table of such rows has them."""
    number = F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN)
    bad = numbered_rows.select(
        quarantine_value.alias("why"), _file_url(location).alias("file"), number
    ).where(F.col("why").isNotNull())
    said = {
        "resource_name": F.lit(resource),
        "table_name": F.lit(table),
        "path": F.lit(ROOT_PATH),
        "rule": F.lit(UNREADABLE_RULE),
        "item": F.col(ROW_COLUMN),
        "reason": F.concat(F.col("why.reason"), F.lit(", in "), F.col("file")),
        "raw": F.col("why.raw"),
    }
    told = F.to_json(F.struct(*(value.alias(name) for name, value in said.items())))
    return bad.select(_with_escaped_tags(told).alias("row"))


def _is_json_object(value: Column) -> Column:
    """Whether a text is an object of JSON, as far as can be told in passing; normalize looks again."""
    begins = F.ltrim(value, F.lit(_WHITESPACE)).startswith("{")
    # The first is faster, and does not take a key that stands twice.
    parsed = F.try_parse_json(value).isNotNull() | F.get_json_object(value, "$").isNotNull()
    return begins & parsed


def _with_escaped_tags(text: Column) -> Column:
    """A foreign text that begins like one of our tags is marked as a text."""
    marked = F.regexp_replace(text, _HAS_TAG, f'"{tags.ESCAPED_TEXT}')
    return F.when(text.rlike(_MAY_HAVE_TAG), marked).otherwise(text)


def _with_tagged_integers(text: Column) -> Column:
    tagged = F.regexp_replace(text, _HAS_BIG_INTEGER, f'$1"{tags.WEI}$2"')
    return F.when(
        (F.length(text) <= _MAX_CHARACTERS_WITH_BIG_INTEGER) & text.rlike(_BIG_INTEGER), tagged
    ).otherwise(text)


def _with_file_and_row(text: Column, location: FolderLocation) -> Column:
    said = F.to_json(
        F.struct(_file_url(location).alias(FILE_COLUMN), F.col(_ROW_NUMBER_COLUMN).alias(ROW_COLUMN))
    )
    rest = F.ltrim(F.ltrim(text, F.lit(_WHITESPACE)).substr(F.lit(2), F.length(text)), F.lit(_WHITESPACE))
    begun = F.concat(said.substr(F.lit(1), F.length(said) - 1))
    return F.concat(begun, F.when(rest.startswith("}"), F.lit("")).otherwise(F.lit(",")), rest)
