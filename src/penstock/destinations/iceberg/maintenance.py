"""Maintenance of Iceberg tables after a load: branches, compaction, and the expiry of snapshots.

The version to which an open load holds readers back is retained by the branch of that load. A table with an
open load of another pipeline is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.destinations.iceberg.conflicts import LOG, retry_on_conflict
from penstock.destinations.lake.maintenance import MaintenanceTask, log_failure, run_maintenance_task
from penstock.package.sql import literal
from penstock.spark.iceberg_library import BranchHead

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.addressing import IcebergCatalog
    from penstock.destinations.iceberg.publisher import HistoryReader
    from penstock.interfaces import LoadMark

_DAY: Final = 24 * 60 * 60 * 1000
"""The time for which a late attempt still sees the branch of a complete load, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLoad:
    """A complete load, and the branch from which it was published."""

    mark: LoadMark
    branch: str | None
    """None if commits are made without branches."""
    versions: Mapping[str, int | None]
    """The commit of each table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergMaintenance:
    """The maintenance of the tables of one dataset."""

    catalog: IcebergCatalog
    read_history: HistoryReader
    optimize: bool = False
    expire_hours: float | None = None

    def run(self, names: Iterable[str], load: PublishedLoad, *, spark: SparkSession) -> None:
        """Run the enabled tasks for tables that a load wrote to; log failures."""
        older_than = datetime.now(UTC) - timedelta(hours=self.expire_hours or 0)
        for name in names:
            version = load.versions.get(name)
            if load.branch is not None and version is not None:
                settle = partial(self._settle, name, load.branch, version, spark)
                log_failure(name, "REPLACE BRANCH", partial(retry_on_conflict, name, settle), log=LOG)
            if self._has_open_loads(name, load.mark.pipeline_name, spark):
                continue
            for task in self.maintenance_tasks(name, older_than):
                run_maintenance_task(name, task, retry=retry_on_conflict, log=LOG, spark=spark)

    def _settle(self, table: str, branch: str, version: int, spark: SparkSession) -> None:
        """Let the branch of the load expire, a day after the commit."""
        newest = self.catalog.open_version(table, spark=spark)
        if newest is None:
            spark.sql(self.catalog.expire_branch_statement(table, branch, version))
        else:
            newest.move_branch(BranchHead(name=branch, snapshots=1, max_age_ms=_DAY), version)

    def maintenance_tasks(self, name: str, older_than: datetime) -> Iterable[MaintenanceTask]:
        """Yield the enabled tasks of a table without open loads of other pipelines."""
        if self.optimize:
            yield MaintenanceTask(
                label="rewrite_data_files", statement=self.catalog.call_statement("rewrite_data_files", name)
            )
        if self.expire_hours is not None:
            # In UTC, the time zone of penstock's sessions.
            timestamp = f"TIMESTAMP {literal(older_than.strftime('%Y-%m-%d %H:%M:%S.%f'))}"
            statement = self.catalog.call_statement("expire_snapshots", name, older_than=timestamp)
            yield MaintenanceTask(label="expire_snapshots", statement=statement)

    def _has_open_loads(self, name: str, pipeline_name: str, spark: SparkSession) -> bool:
        """Return whether a table has an open load of another pipeline; only checked if a task is enabled."""
        if not self.optimize and self.expire_hours is None:
            return False
        others = self.read_history(name, spark=spark).open_branches_of_others(pipeline_name)
        if others:
            LOG.info("maintenance of %s is skipped: another load is open (%s)", name, ", ".join(others))
        return bool(others)
