"""Keeps Delta tables in order after a load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.delta.conflicts import retry_on_conflict
from penstock.destinations.delta.run import USER_METADATA
from penstock.destinations.delta.settings import SAFE_VACUUM_HOURS
from penstock.destinations.lake.maintenance import MaintenanceTask, run_maintenance_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables

_MAX_FILE_SIZE: Final = "spark.databricks.delta.optimize.maxFileSize"
_RETENTION_CHECK: Final = "spark.databricks.delta.retentionDurationCheck.enabled"
# Delta lists a folder in as many tasks as this says, however few files there are: by default 10,000.
_LISTING_CONF: Final = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "100"}
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaMaintenance:
    """What is done, and to which tables."""

    tables: DeltaTables
    optimize: bool
    vacuum_hours: float | None

    @property
    def is_enabled(self) -> bool:
        """Whether there is anything to do."""
        return self.optimize or self.vacuum_hours is not None

    def run(self, names: Iterable[str], load_id: str, *, spark: SparkSession) -> None:
        """Do it for tables that a load wrote to; what fails is told in the log."""
        for name in names:
            for chore in self._tasks(name, load_id):
                run_maintenance_task(name, chore, retry=retry_on_conflict, log=_log, spark=spark)

    def _tasks(self, name: str, load_id: str) -> Iterable[MaintenanceTask]:
        called = self.tables.sql_name(name)
        # Readers see by this that the commit changed no row.
        mark = {USER_METADATA: json.dumps({"optimized": load_id})}
        if self.optimize:
            size = self.tables.file_size
            conf = mark | ({} if size is None else {_MAX_FILE_SIZE: str(size)})
            yield MaintenanceTask(label="OPTIMIZE", statement=f"OPTIMIZE {called}", conf=conf)
        if self.vacuum_hours is not None:
            # The settings refuse fewer hours, unless the user allows them.
            sure = {_RETENTION_CHECK: "false"} if self.vacuum_hours < SAFE_VACUUM_HOURS else {}
            text = f"VACUUM {called} RETAIN {float(self.vacuum_hours)} HOURS"
            yield MaintenanceTask(label="VACUUM", statement=text, conf=mark | _LISTING_CONF | sure)
