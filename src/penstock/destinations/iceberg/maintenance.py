"""Maintenance of Iceberg tables after a load: branches, compaction, and the expiry of snapshots.

The version to which an open load holds readers back is retained by the branch of that load. A table with an
open load of another pipeline is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.destinations.iceberg.conflicts import LOG, retry_on_conflict
from penstock.destinations.lake.maintenance import MaintenanceTask, run_maintenance_task
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.addressing import IcebergCatalog
    from penstock.destinations.iceberg.publisher import HistoryReader
    from penstock.interfaces import LoadMark


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
            tasks = [*self.branch_tasks(name, load)]
            if not self._has_open_loads(name, load.mark.pipeline_name, spark):
                tasks += self.maintenance_tasks(name, older_than)
            for task in tasks:
                run_maintenance_task(name, task, retry=retry_on_conflict, log=LOG, spark=spark)

    def branch_tasks(self, name: str, load: PublishedLoad) -> Iterable[MaintenanceTask]:
        """Yield the task that lets the branch of the load expire."""
        version = load.versions.get(name)
        if load.branch is not None and version is not None:
            statement = self.catalog.expire_branch_statement(name, load.branch, version)
            yield MaintenanceTask(label="REPLACE BRANCH", statement=statement)

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
