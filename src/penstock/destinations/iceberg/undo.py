"""Takes a load back from a table: readers see what was there before, and the load never comes again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from penstock.destinations.iceberg.conflicts import persistent
from penstock.destinations.iceberg.marks import LOAD, is_of, replacing, undone
from penstock.destinations.iceberg.publish import said
from penstock.errors import DestinationTerminalException
from penstock.interfaces import AppliedJob
from penstock.spark.conf import conf_set

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.lineage import Lineage
    from penstock.destinations.iceberg.place import IcebergCatalog
    from penstock.destinations.iceberg.publish import Look
    from penstock.interfaces import LoadMark


class RollBack(Protocol):
    """A way to let readers see an older snapshot of a table."""

    def __call__(self, table: str, version: int, *, spark: SparkSession) -> int:
        """Do it, and say which one they saw until then."""


class Restore(Protocol):
    """A way to put an older snapshot in the place of a table, shape and all."""

    def __call__(self, table: str, version: int, *, spark: SparkSession) -> None:
        """Do it in one commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The tables of one dataset, as loads are taken back from them."""

    place: IcebergCatalog
    look: Look
    roll_back: RollBack
    restore: Restore

    def find(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or was taken back.

        A load that has only got as far as a branch is there to be taken back too: nobody may publish it.
        """
        seen = self.look(table, spark=spark)
        if seen.is_undone(mark.load_id):
            return None
        made = next((one for one in seen.main if is_of(one.summary, mark)), None)
        if made is not None:
            found = seen.job(table, made)
            _check(found, mark.load_id, seen)
            return found
        seen.check(table, mark)
        begun = seen.begun(mark)
        if begun is None:
            return None
        return AppliedJob(table=table, rows=0, version_before=seen.head, version_after=begun)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job, unless it has moved on since.

        A snapshot that changes nothing tells of it. A table that was new is left without rows.
        """
        persistent(applied.table, lambda: self._once(applied, load_id, spark))

    def _once(self, applied: AppliedJob, load_id: str, spark: SparkSession) -> None:
        seen = self.look(applied.table, spark=spark)
        if seen.is_undone(load_id):
            return
        is_seen = any(
            one.id == applied.version_after and one.summary.get(LOAD) == load_id for one in seen.main
        )
        if is_seen:
            _check(applied, load_id, seen)
            if applied.version_before is not None and seen.is_replaced(applied.version_after):
                # What was there is no parent of what is: it is written again, by the commit that tells of it.
                noted = {**undone(applied, load_id), **replacing(applied.version_after)}
                with conf_set(spark, said(noted)):
                    self.restore(applied.table, applied.version_before, spark=spark)
                return
            if applied.version_before is not None:
                self._roll_back(applied, applied.version_before, load_id, spark)
        nothing = spark.createDataFrame([], self.place.read(applied.table, None, spark=spark).schema)
        writer = nothing.writeTo(self.place.sql_name(applied.table))
        with conf_set(spark, said(undone(applied, load_id))):
            if is_seen and applied.version_before is None:
                # Not a DELETE: one of all rows takes no properties. Rows that came meanwhile refuse it.
                writer = writer.option("isolation-level", "serializable")
                writer = writer.option("validate-from-snapshot-id", str(applied.version_after))
                writer.overwrite(F.lit(True))  # noqa: FBT003 - a condition that all rows fulfil
            else:
                writer.append()

    def _roll_back(self, applied: AppliedJob, back: int, load_id: str, spark: SparkSession) -> None:
        """The procedure does not look at what it leaves behind: that is looked at afterwards."""
        left = self.roll_back(applied.table, back, spark=spark)
        if left != applied.version_after:
            spark.sql(self.place.call("set_current_snapshot", applied.table, snapshot_id=str(left)))
            raise _moved_on(applied, load_id)


def _check(applied: AppliedJob, load_id: str, seen: Lineage) -> None:
    """Nothing came after the commit of a job, and what was before it is still there."""
    if seen.head != applied.version_after:
        raise _moved_on(applied, load_id)
    if applied.version_before is not None and applied.version_before not in seen.snapshots:
        raise DestinationTerminalException(
            f"{applied.table} cannot be taken back: snapshot {applied.version_before} was expired",
            hint=f"delete the rows of load {load_id} by their _dlt_load_id; what it replaced is gone",
        )


def _moved_on(applied: AppliedJob, load_id: str) -> DestinationTerminalException:
    return DestinationTerminalException(
        f"{applied.table} was changed after snapshot {applied.version_after} and cannot be taken back",
        hint=f"bring it back by hand to what it was before load {load_id}, with rollback_to_snapshot",
    )
