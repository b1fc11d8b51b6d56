"""Keeps tables in order after a load: small files are joined, files that no reader needs are deleted.

A load is complete before this begins, and stays so whatever comes of it. The pipeline does not write while it
tidies up; others may, and whoever of two commits later gives way: here that means to try again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger, redact
from penstock.destinations.delta.conflicts import persistent
from penstock.destinations.delta.run import METADATA, conf_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables

_SHORT: Final = 168.0
_SHOWN: Final = 300
_MAX_FILE: Final = "spark.databricks.delta.optimize.maxFileSize"
_CHECK: Final = "spark.databricks.delta.retentionDurationCheck.enabled"
# Delta lists a folder in as many tasks as this says, however few files there are: by default 10,000.
_LISTING: Final = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "100"}
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What is done, and to which tables."""

    tables: DeltaTables
    optimize: bool
    vacuum_hours: float | None

    @property
    def is_wanted(self) -> bool:
        """Whether there is anything to do."""
        return self.optimize or self.vacuum_hours is not None

    def tidy(self, names: Iterable[str], load_id: str, *, spark: SparkSession) -> None:
        """Do it for tables that a load wrote to; what fails is told in the log."""
        for name in names:
            for statement, conf in self._statements(name, load_id):
                self._run(name, statement, conf, spark)

    def _statements(self, name: str, load_id: str) -> Iterable[tuple[str, dict[str, str]]]:
        called = self.tables.sql_name(name)
        # Readers see by this that the commit changed no row.
        mark = {METADATA: json.dumps({"optimized": load_id})}
        if self.optimize:
            size = self.tables.file_size
            yield f"OPTIMIZE {called}", mark | ({} if size is None else {_MAX_FILE: str(size)})
        if self.vacuum_hours is not None:
            # Delta asks twice before it deletes files of the last week.
            sure = {_CHECK: "false"} if self.vacuum_hours < _SHORT else {}
            yield f"VACUUM {called} RETAIN {float(self.vacuum_hours)} HOURS", mark | _LISTING | sure

    def _run(self, name: str, statement: str, conf: dict[str, str], spark: SparkSession) -> None:
        try:
            with conf_set(spark, conf):
                persistent(name, lambda: spark.sql(statement))
        except Exception as error:  # classic Spark gives some of Java's as they are; the load is complete
            words, told = statement.split(" ", 1)[0], " ".join(redact(str(error)).split())[:_SHOWN]
            _log.warning("%s of %s was left: %s", words, name, told)
