"""Keeps Iceberg tables in order after a load.

What readers are held at while a load of any pipeline is not complete stays: the branch of that load keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.destinations.iceberg.conflicts import LOG, persistent
from penstock.destinations.lake.upkeep import Chore, do_chore
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.place import IcebergCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What is done, and to which tables."""

    place: IcebergCatalog
    optimize: bool = False
    expire_hours: float | None = None

    def tidy(self, names: Iterable[str], branch: str | None, *, spark: SparkSession) -> None:
        """Do it for tables that a load wrote to; what fails is told in the log."""
        before = datetime.now(UTC) - timedelta(hours=self.expire_hours or 0)
        for name in names:
            for chore in self.chores(name, branch, before):
                do_chore(name, chore, persistent=persistent, log=LOG, spark=spark)

    def chores(self, name: str, branch: str | None, before: datetime) -> Iterable[Chore]:
        """What is done to one table: the branch of the load goes first, for it keeps snapshots."""
        if branch is not None:
            yield Chore(words="DROP BRANCH", statement=self.place.drop_branch(name, branch))
        if self.optimize:
            yield Chore(words="rewrite_data_files", statement=self.place.call("rewrite_data_files", name))
        if self.expire_hours is not None:
            # In the zone of the sessions that penstock works in.
            moment = f"TIMESTAMP {literal(before.strftime('%Y-%m-%d %H:%M:%S.%f'))}"
            text = self.place.call("expire_snapshots", name, older_than=moment)
            yield Chore(words="expire_snapshots", statement=text)
