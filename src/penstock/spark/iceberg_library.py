"""Iceberg's Java library in the JVM of a classic session: tables are read and changed without a Spark job.

A commit is a comparison and a swap: the catalog refuses it if the table was changed since it was opened.
There is no such way over Spark Connect, nor in a session without the library: `open_version` returns None.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from py4j.java_gateway import JavaClass
from pyspark.errors import IllegalArgumentException

from penstock.spark.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

_MAIN: Final = "main"
_CHANGEABLE: Final = "org.apache.iceberg.HasTableOperations"


class StaleVersion(Exception):
    """The table was changed after it was opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHead:
    """A branch that a commit creates or moves, with its retention."""

    name: str
    snapshots: int
    """The number of its snapshots that no maintenance may expire."""
    max_age_ms: int | None = None
    """The age at which maintenance may drop the branch; None: never."""


@dataclass(frozen=True, slots=True)
class IcebergVersion:
    """One version of a table: what it contains, and the one commit that can follow it."""

    metadata: Mapping[str, Any]
    """The metadata of the table, as the specification of Iceberg writes it in JSON."""
    _spark: SparkSession
    _table: Any
    _base: Any

    def put_file(self, name: str, content: bytes) -> str:
        """Create a file where the table has its data, and return its address; it is no part of the table."""
        address: str = self._table.locationProvider().newDataLocation(name)
        stream = self._table.io().newOutputFile(address).create()
        try:
            stream.write(content)
        finally:
            stream.close()
        return address

    def commit_rows(
        self,
        files: Iterable[str],
        *,
        replaces_rows: bool,
        summary: Mapping[str, str],
        branch: BranchHead | None,
        dropped_branches: Iterable[str] = (),
    ) -> Mapping[str, Any]:
        """Make the snapshot of these Parquet files the head of `main` and of a branch, and return it.

        Raise if the table was changed since it was opened; nothing is committed then.
        """
        with _active(self._spark):
            library = _library(self._spark)
            update = self._table.newOverwrite() if replaces_rows else self._table.newAppend()
            if replaces_rows:
                update.overwriteByRowFilter(library.expressions.Expressions.alwaysTrue())
            add = update.addFile if replaces_rows else update.appendFile
            for address in files:
                add(self._describe(address))
            for name, value in summary.items():
                update.set(name, value)
            # Unlike `commit`, this does not move to a later version of the table by itself.
            snapshot = update.apply()
            if snapshot.parentId() != self._head():
                raise StaleVersion
            changed = library.TableMetadata.buildFrom(self._base)
            for name in dropped_branches:
                changed.removeRef(name)
            changed.setBranchSnapshot(snapshot, _MAIN)
            if branch is not None:
                self._set_branch(changed, branch, snapshot.snapshotId())
            self._table.operations().commit(self._base, changed.build())
            result: Mapping[str, Any] = json.loads(library.SnapshotParser.toJson(snapshot))
            return result

    def move_branch(self, branch: BranchHead, snapshot: int) -> None:
        """Create a branch at a snapshot, or move it there, with another retention."""
        with _active(self._spark):
            changed = _library(self._spark).TableMetadata.buildFrom(self._base)
            self._set_branch(changed, branch, snapshot)
            self._table.operations().commit(self._base, changed.build())

    def _head(self) -> int | None:
        head = self._base.currentSnapshot()
        return None if head is None else int(head.snapshotId())

    def _describe(self, address: str) -> Any:
        """Return a data file with the bounds and counts of its columns, from its footer."""
        library, file = _library(self._spark), self._table.io().newInputFile(address)
        wanted = library.MetricsConfig.forTable(self._table)
        metrics = library.parquet.ParquetUtil.fileMetrics(file, wanted)
        builder = library.DataFiles.builder(self._table.spec())
        return builder.withInputFile(file).withFormat("parquet").withMetrics(metrics).build()

    def _set_branch(self, changed: Any, branch: BranchHead, snapshot: int) -> None:
        head = _library(self._spark).SnapshotRef.branchBuilder(snapshot)
        head.minSnapshotsToKeep(branch.snapshots)
        if branch.max_age_ms is not None:
            head.maxRefAgeMs(branch.max_age_ms)
        changed.setRef(branch.name, head.build())


def open_version(sql_name: str, *, spark: SparkSession) -> IcebergVersion | None:
    """Open the newest version of a table; None if only SQL reaches it.

    A table that does not exist is an `AnalysisException`.
    """
    if is_connect(spark):
        return None
    with _active(spark):
        load = _library(spark).spark.Spark3Util
        if not isinstance(load, JavaClass):
            return None
        try:
            table = load.loadIcebergTable(_jvm_session(spark), sql_name)
        except IllegalArgumentException:  # the catalog wraps tables in a class of its own
            return None
        if not _jvm(spark).py4j.reflection.TypeUtil.isInstanceOf(_CHANGEABLE, table):
            return None
        # The catalog may keep tables in a cache.
        base = table.operations().refresh()
        metadata = json.loads(_library(spark).TableMetadataParser.toJson(base))
    return IcebergVersion(metadata, spark, table, base)


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of the thread: Iceberg reads the settings of a catalog from that."""
    sessions = _jvm(spark).org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(_jvm_session(spark))
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _jvm(spark: Any) -> Any:
    return spark._jvm  # noqa: SLF001 - no public name leads to the library


def _jvm_session(spark: Any) -> Any:
    return spark._jsparkSession  # noqa: SLF001 - as above


def _library(spark: SparkSession) -> Any:
    return _jvm(spark).org.apache.iceberg
