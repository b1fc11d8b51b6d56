"""Lands a user's DataFrame: one job, in the user's own session, which is left as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from penstock.errors import StorageNotShared, UnsupportedData, UsageError
from penstock.interfaces.columns import NO_COLUMN
from penstock.interfaces.landing import FrameHook, LandedFrame
from penstock.spark.databases import database_fault
from penstock.spark.landable import LandableColumn, landable
from penstock.spark.observe import Observed, observed
from penstock.spark.paths import spark_path
from penstock.spark.presets import SAFE_COMMIT
from penstock.spark.session import untold

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_MICROSECONDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_MOMENTS: Final = "spark.sql.parquet.outputTimestampType"
_ASIDE: Final = "aside"
_MONTHS = {"YEAR": 12, "MONTH": 1}


def land_frame(
    frame: DataFrame,
    address: str,
    *,
    hook: FrameHook | None = None,
    conf: Mapping[str, str] | None = None,
    aside: str | None = None,
) -> LandedFrame:
    """Write a DataFrame as typed Parquet files to a folder of its own; `conf` is what opens that folder.

    Parquet keeps moments as instants, so the time zone of the session does not matter. What the hook observes
    stands over the whole plan of the user, in the stage that writes.
    """
    if frame.isStreaming:
        raise UnsupportedData(
            data_type="streaming DataFrame",
            reason="it never ends",
            hint="call run() inside foreachBatch, or read the same data with spark.read",
        )
    good, left = _sifted(frame, aside) if aside is not None else (frame, None)
    changed, wanted = hook.before(good) if hook is not None else (good, {})
    rules = landable(changed.schema.jsonValue())
    _check_moments(rules.document, changed.sparkSession)
    # Aggregates name the columns of the user. Without any, Spark joins our select with the user's own.
    watched, seen = observed(changed if wanted else _selected(changed, rules.columns), wanted)
    _write(_selected(watched, rules.columns) if wanted else watched, address, conf or {})
    values = seen.values()
    landed = LandedFrame(
        address=address,
        conf=conf or {},
        columns=rules.document,
        rows=None if values is None else values["rows"],
        aside=0 if left is None else (left.values() or {}).get(_ASIDE),
        seen=None if values is None or hook is None else {name: values[name] for name in wanted},
    )
    if hook is not None:
        hook.after(landed)
    return landed


def _sifted(frame: DataFrame, aside: str) -> tuple[DataFrame, Observed]:
    """The rows that are good; the others are counted below them, while these are written."""
    watched, seen = observed(frame, {_ASIDE: F.count(F.col(aside))})
    return watched.where(F.col(aside).isNull()).drop(aside), seen


def _check_moments(document: Mapping[str, Any], spark: SparkSession) -> None:
    """A session can be told to write moments in milliseconds: what it cuts would be lost in silence."""
    if "timestamp" not in json.dumps(document):
        return
    if spark.conf.get(_MOMENTS, None) == "TIMESTAMP_MILLIS":
        raise UsageError(
            "the session of the DataFrame writes moments without their microseconds",
            hint=f"unset {_MOMENTS}, or cast moments to text",
        )


def send_rows(rows: pa.Table, address: str, *, spark: SparkSession) -> None:
    """Add rows to the files of a folder, by a session, from a machine that cannot write there.

    One file each: a row's position in its file is part of its id.
    """
    spark.createDataFrame(rows).coalesce(1).write.mode("append").parquet(spark_path(address))


def _selected(frame: DataFrame, columns: tuple[LandableColumn, ...]) -> DataFrame:
    """By position: names may differ in case only, or hold anything. What needs no change is not touched."""
    if columns and [column.name for column in columns if column.action == "as_is"] == frame.columns:
        return frame
    numbered = frame.toDF(*(f"n{position}" for position in range(len(frame.columns))))
    if not columns:
        return numbered.select(F.lit(None).cast("boolean").alias(NO_COLUMN))
    return numbered.select(*(_written(column).alias(column.name) for column in columns))


def _written(column: LandableColumn) -> Column:
    source = F.col(f"n{column.position}")
    match column.action:
        case "as_is":
            return source
        case "cast":
            return source.cast(_data_type(column.kind))
        case "text":
            return source.cast("string")
        case "microseconds":
            return _number(source.cast("interval day to second"), _MICROSECONDS)
        case "months":
            return _number(source.cast("interval year to month"), _MONTHS)
        case _:
            assert_never(column.action)


def _number(source: Column, units: Mapping[str, int]) -> Column:
    """An interval as one number; its parts have all the same sign."""
    parts = [(F.extract(F.lit(unit), source) * size).cast("long") for unit, size in units.items()]
    return sum(parts[1:], parts[0])


def _data_type(kind: Any) -> Any:
    """A type of its own: only structs can be made of JSON."""
    document = {"type": "struct", "fields": [{"name": "x", "type": kind, "nullable": True, "metadata": {}}]}
    found: StructField = StructType.fromJson(document).fields[0]
    return found.dataType


def _write(frame: DataFrame, address: str, conf: Mapping[str, str]) -> None:
    options = {**SAFE_COMMIT, **untold(conf, frame.sparkSession)}
    try:
        frame.write.mode("overwrite").options(**options).parquet(spark_path(address))
    except Exception as error:  # classic sessions let errors of Java through as they are
        fault = database_fault(error)
        if fault is not None:
            raise fault from error
        # The frame may be broken, or the place out of reach: something that cannot be broken tells which.
        if _can_write(frame.sparkSession, f"{address}.probe", options):
            raise
        raise StorageNotShared(
            path=address, seen_by="the driver", missing_for="the session of the DataFrame"
        ) from error


def _can_write(spark: SparkSession, address: str, options: Mapping[str, str]) -> bool:
    try:
        spark.range(1).write.mode("overwrite").options(**options).parquet(spark_path(address))
    except Exception:  # as above; whatever it is, the place is out of reach
        return False
    return True
