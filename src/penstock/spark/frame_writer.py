"""Writes a user's DataFrame in one job of the user's own session, without changing the session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.errors import StorageNotShared, UnsupportedData, UsageError
from penstock.interfaces.file_schema import PLACEHOLDER_COLUMN
from penstock.interfaces.frame_engine import FrameHook, FrameWriteResult
from penstock.spark.database_errors import as_database_error
from penstock.spark.frame_schema import FrameColumn, FrameSchema, table_schema, writable_schema
from penstock.spark.observation import WriteMetrics, observe_frame
from penstock.spark.paths import spark_path
from penstock.spark.presets import SAFE_COMMIT_CONF
from penstock.spark.session import missing_conf

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_MICROSECONDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_TIMESTAMP_TYPE_KEY: Final = "spark.sql.parquet.outputTimestampType"
_CALENDAR_KEY: Final = "spark.sql.parquet.datetimeRebaseModeInWrite"
_CALENDAR_TYPES: Final = frozenset(("date", "timestamp"))
_QUARANTINED: Final = "aside"
_MONTHS = {"YEAR": 12, "MONTH": 1}


def write_frame(
    frame: DataFrame,
    address: str,
    *,
    hook: FrameHook | None = None,
    conf: Mapping[str, str] | None = None,
    quarantine_column: str | None = None,
    system_columns: Mapping[str, str] | None = None,
) -> FrameWriteResult:
    """Write a DataFrame as typed Parquet files to a new folder; `conf` are Hadoop settings that open it.

    Parquet stores timestamps as instants, so the session's time zone does not matter. The aggregates of the
    hook are observed over the user's whole plan, in the stage that writes. `system_columns` are written too
    if a table can take the other columns as they are: SQL by name.
    """
    if frame.isStreaming:
        raise UnsupportedData(
            data_type="streaming DataFrame",
            reason="it never ends",
            hint="call run() inside foreachBatch, or read the same data with spark.read",
        )
    good, quarantine_observation = (
        _split_quarantined(frame, quarantine_column) if quarantine_column is not None else (frame, None)
    )
    changed, wanted = hook.before(good) if hook is not None else (good, {})
    rules = writable_schema(changed.schema.jsonValue())
    _check_timestamp_precision(rules.document, changed.sparkSession)
    flat = _table_schema(rules, changed.sparkSession) if system_columns else None
    rules, added = (rules, {}) if flat is None else (flat, system_columns or {})
    # Aggregates use the user's column names. Without any, Spark merges our select with the user's.
    watched, seen = observe_frame(
        changed if wanted else _select_columns(changed, rules.columns, added), wanted
    )
    _write_files(_select_columns(watched, rules.columns, added) if wanted else watched, address, conf or {})
    values = seen.values()
    landed = FrameWriteResult(
        address=address,
        conf=conf or {},
        columns=rules.document,
        rows=None if values is None else values["rows"],
        quarantined_rows=0
        if quarantine_observation is None
        else (quarantine_observation.values() or {}).get(_QUARANTINED),
        observed=None if values is None or hook is None else {name: values[name] for name in wanted},
        has_system_columns=bool(added),
    )
    if hook is not None:
        hook.after(landed)
    return landed


def _split_quarantined(frame: DataFrame, quarantine_column: str) -> tuple[DataFrame, WriteMetrics]:
    """Return the good rows; the others are counted during the write."""
    watched, seen = observe_frame(frame, {_QUARANTINED: F.count(F.col(quarantine_column))})
    return watched.where(F.col(quarantine_column).isNull()).drop(quarantine_column), seen


def _check_timestamp_precision(document: Mapping[str, Any], spark: SparkSession) -> None:
    """Refuse a session that writes timestamps in milliseconds, which would truncate values silently."""
    if "timestamp" not in json.dumps(document):
        return
    if spark.conf.get(_TIMESTAMP_TYPE_KEY, None) == "TIMESTAMP_MILLIS":
        raise UsageError(
            "the session of the DataFrame writes timestamps without microseconds",
            hint=f"unset {_TIMESTAMP_TYPE_KEY}, or cast timestamps to text",
        )


def _table_schema(rules: FrameSchema, spark: SparkSession) -> FrameSchema | None:
    """Return the schema of files that a table can take; None if the session writes its dates otherwise."""
    flat = table_schema(rules)
    types = {field["type"] for field in flat.document["fields"]} if flat is not None else set()
    # Spark's default type has no bounds in the footers of files.
    has_no_bounds = "timestamp" in types and spark.conf.get(_TIMESTAMP_TYPE_KEY, None) != "TIMESTAMP_MICROS"
    has_old_calendar = (
        not types.isdisjoint(_CALENDAR_TYPES) and spark.conf.get(_CALENDAR_KEY, None) == "LEGACY"
    )
    return None if has_no_bounds or has_old_calendar else flat


def send_rows(rows: pa.Table, address: str, *, spark: SparkSession) -> None:
    """Add rows to the files of a folder through a session, from a machine that cannot write there.

    Each call writes one file: the position of a row in its file is part of its id.
    """
    spark.createDataFrame(rows).coalesce(1).write.mode("append").parquet(spark_path(address))


def _select_columns(
    frame: DataFrame, columns: tuple[FrameColumn, ...], added: Mapping[str, str]
) -> DataFrame:
    """Convert columns by position, because names may differ in case only; add columns given as SQL."""
    is_same = columns and [column.name for column in columns if column.action == "as_is"] == frame.columns
    if is_same and not added:
        return frame
    numbered = frame.toDF(*(f"n{position}" for position in range(len(frame.columns))))
    if not columns:
        return numbered.select(F.lit(None).cast("boolean").alias(PLACEHOLDER_COLUMN))
    selected = [_file_column(column).alias(column.name) for column in columns]
    return numbered.select(*selected, *(F.expr(sql).alias(name) for name, sql in added.items()))


def _file_column(column: FrameColumn) -> Column:
    source = F.col(f"n{column.position}")
    match column.action:
        case "as_is":
            return source
        case "cast":
            return source.cast(_data_type(column.kind))
        case "text":
            return source.cast("string")
        case "microseconds":
            return _interval_as_number(source.cast("interval day to second"), _MICROSECONDS)
        case "months":
            return _interval_as_number(source.cast("interval year to month"), _MONTHS)
        case _:
            assert_never(column.action)


def _interval_as_number(source: Column, units: Mapping[str, int]) -> Column:
    """Return an interval as one number; its parts all have the same sign."""
    parts = [(F.extract(F.lit(unit), source) * size).cast("long") for unit, size in units.items()]
    return sum(parts[1:], parts[0])


def _data_type(kind: Any) -> Any:
    """Wrap the type in a struct, because only structs can be created from JSON."""
    document = {"type": "struct", "fields": [{"name": "x", "type": kind, "nullable": True, "metadata": {}}]}
    field: StructField = StructType.fromJson(document).fields[0]
    return field.dataType


def _write_files(frame: DataFrame, address: str, conf: Mapping[str, str]) -> None:
    options = {**SAFE_COMMIT_CONF, **missing_conf(conf, frame.sparkSession)}
    try:
        frame.write.mode("overwrite").options(**options).parquet(spark_path(address))
    except Exception as error:  # classic sessions raise Java errors unchanged
        fault = as_database_error(error)
        if fault is not None:
            raise fault from error
        # The frame may be broken or the storage out of reach: a frame that cannot break distinguishes them.
        if _can_write(frame.sparkSession, f"{address}.probe", options):
            raise
        raise StorageNotShared(
            path=address, seen_by="the driver", missing_for="the session of the DataFrame"
        ) from error


def _can_write(spark: SparkSession, address: str, options: Mapping[str, str]) -> bool:
    try:
        spark.range(1).write.mode("overwrite").options(**options).parquet(spark_path(address))
    except Exception:  # as above; any error means that the storage is out of reach
        return False
    return True
