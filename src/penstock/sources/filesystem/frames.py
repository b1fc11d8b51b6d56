"""Files become DataFrames: typed ones of CSV and Parquet, texts of JSONL. Nothing runs here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.interfaces.landing import SiftedFrame
from penstock.package import tags
from penstock.package.quarantine import ROOT_PATH, UNREADABLE
from penstock.package.sql import quoted
from penstock.sources.filesystem.plan import has_zone, is_nanoseconds, names_of, past
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from penstock.sources.filesystem.items import Found
    from penstock.sources.filesystem.options import CsvOptions
    from penstock.sources.filesystem.place import Place
    from penstock.sources.filesystem.plan import Columns

FILE, ROW = "_file", "_row"
"""The columns that say where a row stood."""
_ASIDE, _CORRUPT = "_penstock_aside", "_penstock_corrupt"
_PATH, _BLOCK, _AT = "_penstock_path", "_penstock_block", "_penstock_at"
_NUMBER: Final = "_penstock_row"
NANOS_AS_LONG: Final = {"spark.sql.legacy.parquet.nanosAsLong": "true"}
"""What a session must be told to read moments in nanoseconds: else it refuses their files."""
_WHOLE: Final = {"recursiveFileLookup": "true", "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_LONGEST: Final = 10_000
_FIELDS: Final = "it has another number of fields than the header"
_REPLACED: Final = "\ufffd"
_MAY_BE_NO_UTF8: Final = "it is no UTF-8, or holds the character U+FFFD"
_NO_UTF8, _NO_JSON = "it is no UTF-8", "it is no JSON object"
_BLANK: Final = " \t\r\n\ufeff"
# The quote that opens a text which begins like one of our tags, as a character or escaped. Never the quote
# within a text, which has a backslash before it, and never that of a key, which has a colon behind it.
_STRING: Final = r'[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TAG: Final = rf"(?:[{tags.FIRST}-{tags.LAST}]|\\u[fF]02[6-9a-fA-F])"
_MAY_HAVE_TAG: Final = f'"{_TAG}'
_HAS_TAG: Final = rf'(?<!\\)"(?={_TAG})(?!{_STRING}\s*+:)'
# Integers past 64 bits: who reads JSON makes null of them, so they travel as rows of Python have them.
# Most numbers are short, and go by their length.
_BIG: Final = rf"(?<![0-9.eE+-])(?=-?[0-9]{{19}})(?:{past(2**63 - 1)}|-{past(2**63)})(?![0-9.eE])"
# From number to number, whole texts being passed over: what stands within a text is no number.
_HAS_BIG: Final = rf'\G((?:[^"0-9-]++|"{_STRING}|(?!{_BIG})[0-9-])*+)({_BIG})'
_LONGEST_WITH_BIG: Final = 50_000
_TOO_LONG: Final = "it has an integer past 64 bits and is longer than 50,000 characters"


def csv_frame(
    spark: SparkSession,
    place: Place,
    files: Sequence[Found],
    header: Sequence[str],
    *,
    options: CsvOptions,
    metadata: bool,
) -> SiftedFrame:
    """CSV files with the same header. Lines with another number of fields are put aside."""
    paths = [place.spark_path(one.path) for one in files]
    names = names_of(header)
    reader = spark.read.options(**options.for_spark(), **_WHOLE)
    kinds: list[Any] = [StringType()] * len(names)
    if options.infer:
        guessed = reader.options(inferSchema="true", preferDate="true").csv(paths).schema
        kinds = [one.dataType for one in guessed.fields][: len(names)]
        kinds += [StringType()] * (len(names) - len(kinds))
    schema = StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
    reader = reader.options(columnNameOfCorruptRecord=_CORRUPT).schema(schema.add(_CORRUPT, StringType()))
    read = _placed(reader.csv(paths))
    columns = [F.col(quoted(name)) for name in names]
    whole = F.concat_ws(options.delimiter, *(column.cast("string") for column in columns))
    # Spark refuses to say what is corrupt where nothing else is asked for, and then says it of the columns
    # that are. Hence nothing of all of them, in a way that no optimizer sees through.
    raw = F.concat(F.col(_CORRUPT), whole.substr(1, 0))
    why = F.when(F.col(_CORRUPT).isNotNull(), _why(F.lit(_FIELDS), raw))
    texts = [column for column, kind in zip(columns, kinds, strict=True) if kind == StringType()]
    if options.is_utf8 and texts:
        # Spark's reader has put this character where the bytes were none.
        is_broken = F.concat_ws("", *texts).contains(_REPLACED)
        why = why.when(is_broken, _why(F.lit(_MAY_BE_NO_UTF8), whole))
    told = partial(_told, _numbered(read), why, place)
    if metadata:
        read = _numbered(read)
        columns = [*columns, _file(place).alias(FILE), F.col(_NUMBER).alias(ROW)]
    return SiftedFrame(read.select(*columns, why.alias(_ASIDE)), aside=_ASIDE, told=told)


def jsonl_frame(spark: SparkSession, place: Place, files: Sequence[Found], *, metadata: bool) -> SiftedFrame:
    """Lines of JSON as they are, so that they are read by the same rules as rows of Python."""
    paths = [place.spark_path(one.path) for one in files]
    # A line is numbered before empty ones go.
    read = _placed(spark.read.options(**_WHOLE).text(paths))
    value = F.col("value")
    is_line = F.trim(value, F.lit(_BLANK)) != ""
    # The second look is dear, and taken only after the first: digits may stand in a text.
    has_big = value.rlike(_BIG) & F.regexp_replace(value, f'"{_STRING}', '""').rlike(_BIG)
    is_too_long = (F.length(value) > _LONGEST_WITH_BIG) & has_big
    reason = F.when(~F.is_valid_utf8(value), _NO_UTF8).when(~_is_object(value), _NO_JSON)
    reason = reason.when(is_too_long, _TOO_LONG)
    why = F.when(is_line & reason.isNotNull(), _why(reason, F.make_valid_utf8(value)))
    told = partial(_told, _numbered(read), why, place)
    text = _with_big(_guarded(value))
    if metadata:
        read, text = _numbered(read), _with_place(text, place)
    rows = read.where(is_line).select(text.alias("row"), why.alias(_ASIDE))
    return SiftedFrame(rows, aside=_ASIDE, told=told, is_text=True)


def parquet_frame(
    spark: SparkSession,
    place: Place,
    files: Sequence[Found],
    columns: Columns,
    *,
    merge: bool,
    metadata: bool,
) -> DataFrame:
    """Parquet files whose columns fit together. The session must be told `NANOS_AS_LONG`."""
    reader = spark.read.options(**_WHOLE, mergeSchema=str(merge).lower())
    frame = reader.parquet(*(place.spark_path(one.path) for one in files))
    if metadata:
        path, row = F.col("_metadata.file_path").alias(_PATH), F.col("_metadata.row_index").alias(ROW)
        frame = frame.select("*", path, row).withColumn(FILE, _file(place)).drop(_PATH)
    moments = {name: _moment(name, kind) for name, kind in columns if is_nanoseconds(kind)}
    return frame.withColumns(moments) if moments else frame


def _moment(name: str, kind: str) -> Column:
    """A number of nanoseconds as what it means. Sessions of ours keep UTC, so a clock on the wall stays."""
    moment = F.timestamp_micros(F.call_function("div", F.col(quoted(name)), F.lit(1000)))
    return moment if has_zone(kind) else moment.cast("timestamp_ntz")


def _placed(frame: DataFrame) -> DataFrame:
    """Each row with where it stands: the file, the part of it that a task reads, and the place in that."""
    return frame.select(
        "*",
        F.col("_metadata.file_path").alias(_PATH),
        F.col("_metadata.file_block_start").alias(_BLOCK),
        F.monotonically_increasing_id().alias(_AT),
    )


def _numbered(frame: DataFrame) -> DataFrame:
    """Each row with its number in its file, from 0.

    The files are read a second time, to count the rows of the parts before: no row is moved for it.
    """
    # They stand beside the columns of files, which may have any name.
    of_path, of_block = "_penstock_of_path", "_penstock_of_block"
    first, rows, before = "_penstock_first", "_penstock_rows", "_penstock_before"
    parts = frame.groupBy(_PATH, _BLOCK).agg(F.min(_AT).alias(first), F.count(F.lit(1)).alias(rows))
    rows_before = F.expr(
        f"sum({rows}) OVER (PARTITION BY {_PATH} ORDER BY {_BLOCK}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    starts = parts.select(
        F.col(_PATH).alias(of_path),
        F.col(_BLOCK).alias(of_block),
        first,
        F.coalesce(rows_before, F.lit(0)).alias(before),
    )
    is_its = (F.col(_PATH) == F.col(of_path)) & (F.col(_BLOCK) == F.col(of_block))
    joined = frame.join(F.broadcast(starts), is_its)
    number = F.col(before) + F.col(_AT) - F.col(first)
    return joined.withColumn(_NUMBER, number.cast("long")).drop(of_path, of_block, first, before)


def _file(place: Place) -> Column:
    """The address of the file, plain: Spark tells it with escapes, and under Hadoop's scheme."""
    plain = F.url_decode(F.replace(F.col(_PATH), F.lit("+"), F.lit("%2B")))
    if place.is_local:
        return F.regexp_replace(plain, "^file:/+", "/")
    below = F.substring(plain, len(spark_path(place.root)) + 1, 10_000)
    return F.concat(F.lit(place.root), below)


def _why(reason: Column, raw: Column) -> Column:
    return F.struct(reason.alias("reason"), raw.substr(1, _LONGEST).alias("raw"))


def _told(numbered: DataFrame, why: Column, place: Place, resource: str, table: str) -> DataFrame:
    """The rows that are put aside, as the table of such rows has them."""
    number = F.col(_NUMBER).alias(ROW)
    bad = numbered.select(why.alias("why"), _file(place).alias("file"), number).where(
        F.col("why").isNotNull()
    )
    said = {
        "resource_name": F.lit(resource),
        "table_name": F.lit(table),
        "path": F.lit(ROOT_PATH),
        "rule": F.lit(UNREADABLE),
        "item": F.col(ROW),
        "reason": F.concat(F.col("why.reason"), F.lit(", in "), F.col("file")),
        "raw": F.col("why.raw"),
    }
    told = F.to_json(F.struct(*(value.alias(name) for name, value in said.items())))
    return bad.select(_guarded(told).alias("row"))


def _is_object(value: Column) -> Column:
    """Whether a text is an object of JSON, as far as can be told in passing; normalize looks again."""
    begins = F.ltrim(value, F.lit(_BLANK)).startswith("{")
    # The first is faster, and does not take a key that stands twice.
    parsed = F.try_parse_json(value).isNotNull() | F.get_json_object(value, "$").isNotNull()
    return begins & parsed


def _guarded(text: Column) -> Column:
    """A foreign text that begins like one of our tags is marked as a text."""
    marked = F.regexp_replace(text, _HAS_TAG, f'"{tags.TEXT}')
    return F.when(text.rlike(_MAY_HAVE_TAG), marked).otherwise(text)


def _with_big(text: Column) -> Column:
    tagged = F.regexp_replace(text, _HAS_BIG, f'$1"{tags.WEI}$2"')
    return F.when((F.length(text) <= _LONGEST_WITH_BIG) & text.rlike(_BIG), tagged).otherwise(text)


def _with_place(text: Column, place: Place) -> Column:
    said = F.to_json(F.struct(_file(place).alias(FILE), F.col(_NUMBER).alias(ROW)))
    rest = F.ltrim(F.ltrim(text, F.lit(_BLANK)).substr(F.lit(2), F.length(text)), F.lit(_BLANK))
    begun = F.concat(said.substr(F.lit(1), F.length(said) - 1))
    return F.concat(begun, F.when(rest.startswith("}"), F.lit("")).otherwise(F.lit(",")), rest)
