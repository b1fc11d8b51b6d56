"""Keeps tables in order after a load: small files are joined, what no reader needs is deleted.

A load is complete before this begins, and stays so whatever comes of it. The pipeline does not write while it
tidies up; others may, and whoever of two commits later gives way: here that means to try again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.config import redact
from penstock.spark.conf import conf_set

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

_SHOWN: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something that is done to a table, and the settings that hold meanwhile."""

    words: str
    """How it is called in the log."""
    statement: str
    conf: Mapping[str, str] = field(default_factory=dict)


def do_chore(
    table: str,
    chore: Chore,
    *,
    persistent: Callable[[str, Callable[[], object]], object],
    log: logging.Logger,
    spark: SparkSession,
) -> None:
    """Do it; whatever fails is told in the log."""
    try:
        with conf_set(spark, chore.conf):
            persistent(table, lambda: spark.sql(chore.statement))
    except Exception as error:  # classic Spark gives some of Java's as they are; the load is complete
        told = " ".join(redact(str(error)).split())[:_SHOWN]
        log.warning("%s of %s was left: %s", chore.words, table, told)
