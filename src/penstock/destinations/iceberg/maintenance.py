"""Keeps Iceberg tables in order after a load.

What readers are held at while a load of any pipeline is not complete stays: the branch of that load keeps it.
A table that others are at is left for the next load.
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
    """A load that is complete, and the branch that it was published from."""

    mark: LoadMark
    branch: str | None
    """None where commits are made without."""
    versions: Mapping[str, int | None]
    """The commit of each table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergMaintenance:
    """What is done to the tables of a load."""

    catalog: IcebergCatalog
    read_history: HistoryReader
    optimize: bool = False
    expire_hours: float | None = None

    def run(self, names: Iterable[str], load: PublishedLoad, *, spark: SparkSession) -> None:
        """Do it for tables that a load wrote to; what fails is told in the log."""
        before = datetime.now(UTC) - timedelta(hours=self.expire_hours or 0)
        for name in names:
            chores = [*self.branch_tasks(name, load)]
            if not self._has_open_loads(name, load.mark.pipeline_name, spark):
                chores += self.maintenance_tasks(name, before)
            for chore in chores:
                run_maintenance_task(name, chore, retry=retry_on_conflict, log=LOG, spark=spark)

    def branch_tasks(self, name: str, load: PublishedLoad) -> Iterable[MaintenanceTask]:
        """The branch of the load stays for a while, and goes by itself."""
        version = load.versions.get(name)
        if load.branch is not None and version is not None:
            text = self.catalog.expire_branch_statement(name, load.branch, version)
            yield MaintenanceTask(label="REPLACE BRANCH", statement=text)

    def maintenance_tasks(self, name: str, older_than: datetime) -> Iterable[MaintenanceTask]:
        """What is done to a table that nobody else is at."""
        if self.optimize:
            yield MaintenanceTask(
                label="rewrite_data_files", statement=self.catalog.call_statement("rewrite_data_files", name)
            )
        if self.expire_hours is not None:
            # In the zone of the sessions that penstock works in.
            moment = f"TIMESTAMP {literal(older_than.strftime('%Y-%m-%d %H:%M:%S.%f'))}"
            text = self.catalog.call_statement("expire_snapshots", name, older_than=moment)
            yield MaintenanceTask(label="expire_snapshots", statement=text)

    def _has_open_loads(self, name: str, pipeline_name: str, spark: SparkSession) -> bool:
        """Whether a load of another pipeline is open in a table; nobody looks where nothing is to be done."""
        if not self.optimize and self.expire_hours is None:
            return False
        others = self.read_history(name, spark=spark).open_branches_of_others(pipeline_name)
        if others:
            LOG.info("%s is not tidied up: another load is not complete (%s)", name, ", ".join(others))
        return bool(others)
