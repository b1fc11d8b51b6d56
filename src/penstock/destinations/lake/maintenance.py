"""Maintenance of tables after a load: compaction and the deletion of old files.

The load is complete before it begins, so a failure is only logged. A conflict with another writer is retried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.config import redact
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

_MAX_MESSAGE_LENGTH: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceTask:
    """One maintenance statement, and the session settings for it."""

    label: str
    """Its name in the log."""
    statement: str
    conf: Mapping[str, str] = field(default_factory=dict)


def run_maintenance_task(
    table: str,
    task: MaintenanceTask,
    *,
    retry: Callable[[str, Callable[[], object]], object],
    log: logging.Logger,
    spark: SparkSession,
) -> None:
    """Run a task; log a failure."""

    def run_statement() -> None:
        with temporary_conf(spark, task.conf):
            retry(table, lambda: spark.sql(task.statement))

    log_failure(table, task.label, run_statement, log=log)


def log_failure(table: str, label: str, act: Callable[[], object], *, log: logging.Logger) -> None:
    """Do a part of the maintenance of a table; log a failure."""
    try:
        act()
    except Exception as error:  # classic Spark raises some Java errors unchanged; the load is complete
        message = " ".join(redact(str(error)).split())[:_MAX_MESSAGE_LENGTH]
        log.warning("%s of %s failed: %s", label, table, message)
