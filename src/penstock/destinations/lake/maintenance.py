"""Keeps tables in order after a load: small files are joined, what no reader needs is deleted.

A load is complete before this begins, and stays so whatever comes of it. The pipeline does not write while it
tidies up; others may, and whoever of two commits later gives way: here that means to try again.
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
    """Something that is done to a table, and the settings that hold meanwhile."""

    label: str
    """How it is called in the log."""
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
    """Do it; whatever fails is told in the log."""
    try:
        with temporary_conf(spark, task.conf):
            retry(table, lambda: spark.sql(task.statement))
    except Exception as error:  # classic Spark gives some of Java's as they are; the load is complete
        told = " ".join(redact(str(error)).split())[:_MAX_MESSAGE_LENGTH]
        log.warning("%s of %s was left: %s", task.label, table, told)
