"""Keeps Delta tables in order after a load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.delta.conflicts import persistent
from penstock.destinations.delta.run import METADATA
from penstock.destinations.delta.settings import SAFE_HOURS
from penstock.destinations.lake.upkeep import Chore, do_chore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from penstock.destinations.delta.run import DeltaTables

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
            for chore in self._chores(name, load_id):
                do_chore(name, chore, persistent=persistent, log=_log, spark=spark)

    def _chores(self, name: str, load_id: str) -> Iterable[Chore]:
        called = self.tables.sql_name(name)
        # Readers see by this that the commit changed no row.
        mark = {METADATA: json.dumps({"optimized": load_id})}
        if self.optimize:
            size = self.tables.file_size
            conf = mark | ({} if size is None else {_MAX_FILE: str(size)})
            yield Chore(words="OPTIMIZE", statement=f"OPTIMIZE {called}", conf=conf)
        if self.vacuum_hours is not None:
            # The settings refuse fewer hours, unless the user allows them.
            sure = {_CHECK: "false"} if self.vacuum_hours < SAFE_HOURS else {}
            text = f"VACUUM {called} RETAIN {float(self.vacuum_hours)} HOURS"
            yield Chore(words="VACUUM", statement=text, conf=mark | _LISTING | sure)
