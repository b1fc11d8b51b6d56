"""Maintenance of Delta tables after a load: OPTIMIZE and VACUUM."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.delta.commit_marks import USER_METADATA
from penstock.destinations.delta.settings import SAFE_VACUUM_HOURS
from penstock.destinations.lake.maintenance import MaintenanceTask, run_maintenance_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables

_MAX_FILE_SIZE: Final = "spark.databricks.delta.optimize.maxFileSize"
_RETENTION_CHECK: Final = "spark.databricks.delta.retentionDurationCheck.enabled"
# Delta lists a folder in this many tasks, even for few files; the default is 10,000.
_LISTING_CONF: Final = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "100"}
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaMaintenance:
    """The maintenance of the tables of one dataset."""

    tables: DeltaTables
    optimize: bool
    vacuum_hours: float | None

    @property
    def is_enabled(self) -> bool:
        """Whether any task is enabled."""
        return self.optimize or self.vacuum_hours is not None

    def run(self, names: Iterable[str], load_id: str, *, spark: SparkSession) -> None:
        """Run the enabled tasks for tables that a load wrote to; log failures."""
        for name in names:
            for task in self._tasks(name, load_id):
                run_maintenance_task(name, task, retry=self.tables.commit, log=_log, spark=spark)

    def _tasks(self, name: str, load_id: str) -> Iterable[MaintenanceTask]:
        sql_name = self.tables.sql_name(name)
        # By this metadata readers know that the commit changed no row.
        mark = {USER_METADATA: json.dumps({"optimized": load_id})}
        if self.optimize:
            size = self.tables.file_size
            conf = mark | ({} if size is None else {_MAX_FILE_SIZE: str(size)})
            yield MaintenanceTask(label="OPTIMIZE", statement=f"OPTIMIZE {sql_name}", conf=conf)
        if self.vacuum_hours is not None:
            # The settings refuse fewer hours, unless the user allows them.
            unchecked = {_RETENTION_CHECK: "false"} if self.vacuum_hours < SAFE_VACUUM_HOURS else {}
            statement = f"VACUUM {sql_name} RETAIN {float(self.vacuum_hours)} HOURS"
            yield MaintenanceTask(label="VACUUM", statement=statement, conf=mark | _LISTING_CONF | unchecked)
