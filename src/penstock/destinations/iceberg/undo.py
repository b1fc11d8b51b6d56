"""Takes a load back from a table: readers see what was there before, and the load never comes again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from penstock.destinations.iceberg.commit_metadata import (
    LOAD,
    is_commit_of,
    replace_properties,
    undo_properties,
)
from penstock.destinations.iceberg.conflicts import retry_on_conflict
from penstock.destinations.iceberg.publisher import snapshot_conf
from penstock.errors import DestinationTerminalException
from penstock.interfaces import AppliedJob
from penstock.spark.conf import temporary_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.catalog import IcebergCatalog
    from penstock.destinations.iceberg.lineage import Lineage
    from penstock.destinations.iceberg.publisher import LineageReader
    from penstock.interfaces import LoadMark


class RollbackFunction(Protocol):
    """A way to let readers see an older snapshot of a table."""

    def __call__(self, table: str, version: int, *, spark: SparkSession) -> int:
        """Do it, and say which one they saw until then."""


class RestoreFunction(Protocol):
    """A way to put an older snapshot in the place of a table, shape and all."""

    def __call__(self, table: str, version: int, *, spark: SparkSession) -> None:
        """Do it in one commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadUndo:
    """The tables of one dataset, as loads are taken back from them."""

    catalog: IcebergCatalog
    read_lineage: LineageReader
    roll_back: RollbackFunction
    restore: RestoreFunction

    def find_applied(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or was taken back.

        A load that has only got as far as a branch is there to be taken back too: nobody may publish it.
        """
        seen = self.read_lineage(table, spark=spark)
        if seen.is_undone(mark.load_id):
            return None
        made = next((one for one in seen.main_snapshots if is_commit_of(one.summary, mark)), None)
        if made is not None:
            found = seen.applied_job(table, made)
            _check_undoable(found, mark.load_id, seen)
            return found
        seen.check_branches(table, mark)
        begun = seen.branch_head(mark)
        if begun is None:
            return None
        return AppliedJob(table=table, rows=0, version_before=seen.head, version_after=begun)

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job, unless it has moved on since.

        A snapshot that changes nothing tells of it. A table that was new is left without rows.
        """
        retry_on_conflict(applied.table, lambda: self._undo_once(applied, load_id, spark))

    def _undo_once(self, applied: AppliedJob, load_id: str, spark: SparkSession) -> None:
        seen = self.read_lineage(applied.table, spark=spark)
        if seen.is_undone(load_id):
            return
        is_seen = any(
            one.id == applied.version_after and one.summary.get(LOAD) == load_id
            for one in seen.main_snapshots
        )
        if is_seen:
            _check_undoable(applied, load_id, seen)
            if applied.version_before is not None and seen.is_table_replacement(applied.version_after):
                # What was there is no parent of what is: it is written again, by the commit that tells of it.
                noted = {**undo_properties(applied, load_id), **replace_properties(applied.version_after)}
                with temporary_conf(spark, snapshot_conf(noted)):
                    self.restore(applied.table, applied.version_before, spark=spark)
                return
            if applied.version_before is not None:
                self._roll_back(applied, applied.version_before, load_id, spark)
        nothing = spark.createDataFrame([], self.catalog.read(applied.table, None, spark=spark).schema)
        writer = nothing.writeTo(self.catalog.sql_name(applied.table))
        with temporary_conf(spark, snapshot_conf(undo_properties(applied, load_id))):
            if is_seen and applied.version_before is None:
                # Not a DELETE: one of all rows takes no properties. Rows that came meanwhile refuse it.
                writer = writer.option("isolation-level", "serializable")
                writer = writer.option("validate-from-snapshot-id", str(applied.version_after))
                writer.overwrite(F.lit(True))  # noqa: FBT003 - a condition that all rows fulfil
            else:
                writer.append()

    def _roll_back(self, applied: AppliedJob, version: int, load_id: str, spark: SparkSession) -> None:
        """The procedure does not look at what it leaves behind: that is looked at afterwards."""
        left = self.roll_back(applied.table, version, spark=spark)
        if left != applied.version_after:
            spark.sql(
                self.catalog.call_statement("set_current_snapshot", applied.table, snapshot_id=str(left))
            )
            raise _moved_on_error(applied, load_id)


def _check_undoable(applied: AppliedJob, load_id: str, lineage: Lineage) -> None:
    """Nothing came after the commit of a job, and what was before it is still there."""
    if lineage.head != applied.version_after:
        raise _moved_on_error(applied, load_id)
    if applied.version_before is not None and applied.version_before not in lineage.snapshots:
        raise DestinationTerminalException(
            f"{applied.table} cannot be taken back: snapshot {applied.version_before} was expired",
            hint=f"delete the rows of load {load_id} by their _dlt_load_id; what it replaced is gone",
        )


def _moved_on_error(applied: AppliedJob, load_id: str) -> DestinationTerminalException:
    return DestinationTerminalException(
        f"{applied.table} was changed after snapshot {applied.version_after} and cannot be taken back",
        hint=f"bring it back by hand to what it was before load {load_id}, with rollback_to_snapshot",
    )
