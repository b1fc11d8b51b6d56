"""Keeps Iceberg tables in order after a load.

What readers are held at while a load of any pipeline is not complete stays: the branch of that load keeps it.
A table that others are at is left for the next load.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from penstock.destinations.iceberg.conflicts import LOG, persistent
from penstock.destinations.lake.upkeep import Chore, do_chore
from penstock.package.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.place import IcebergCatalog
    from penstock.destinations.iceberg.publish import Look
    from penstock.interfaces import LoadMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A load that is complete, and the branch that it was published from."""

    mark: LoadMark
    branch: str | None
    """None where commits are made without."""
    versions: Mapping[str, int | None]
    """The commit of each table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What is done to the tables of a load."""

    place: IcebergCatalog
    look: Look
    optimize: bool = False
    expire_hours: float | None = None

    def tidy(self, names: Iterable[str], load: Settled, *, spark: SparkSession) -> None:
        """Do it for tables that a load wrote to; what fails is told in the log."""
        before = datetime.now(UTC) - timedelta(hours=self.expire_hours or 0)
        for name in names:
            chores = [*self.settling(name, load)]
            if not self._is_shared(name, load.mark.pipeline_name, spark):
                chores += self.chores(name, before)
            for chore in chores:
                do_chore(name, chore, persistent=persistent, log=LOG, spark=spark)

    def settling(self, name: str, load: Settled) -> Iterable[Chore]:
        """The branch of the load stays for a while, and goes by itself."""
        version = load.versions.get(name)
        if load.branch is not None and version is not None:
            text = self.place.settle_branch(name, load.branch, version)
            yield Chore(words="REPLACE BRANCH", statement=text)

    def chores(self, name: str, before: datetime) -> Iterable[Chore]:
        """What is done to a table that nobody else is at."""
        if self.optimize:
            yield Chore(words="rewrite_data_files", statement=self.place.call("rewrite_data_files", name))
        if self.expire_hours is not None:
            # In the zone of the sessions that penstock works in.
            moment = f"TIMESTAMP {literal(before.strftime('%Y-%m-%d %H:%M:%S.%f'))}"
            text = self.place.call("expire_snapshots", name, older_than=moment)
            yield Chore(words="expire_snapshots", statement=text)

    def _is_shared(self, name: str, pipeline_name: str, spark: SparkSession) -> bool:
        """Whether a load of another pipeline is open in a table; nobody looks where nothing is to be done."""
        if not self.optimize and self.expire_hours is None:
            return False
        others = self.look(name, spark=spark).of_others(pipeline_name)
        if others:
            LOG.info("%s is not tidied up: another load is not complete (%s)", name, ", ".join(others))
        return bool(others)
