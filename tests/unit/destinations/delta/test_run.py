from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import AnalysisException

from penstock.destinations.delta.history import load_metadata
from penstock.destinations.delta.run import DeltaTables
from penstock.errors import CommitLost, DestinationAhead
from penstock.interfaces import AppliedJob, LoadMark
from penstock.schema import Table
from penstock.spark.presets import OWN_CONF

if TYPE_CHECKING:
    from penstock.destinations.delta.addressing import DeltaAddressing


MARK = LoadMark(pipeline_name="shop", sequence=3, load_id="17.5", manifest_hash="ab")
OTHERS = LoadMark(pipeline_name="shop", sequence=3, load_id="17.4", manifest_hash="cd")


def commit(version: int, mark: LoadMark | None = None) -> dict[str, Any]:
    metadata = None if mark is None else load_metadata(mark)
    return {
        "version": version,
        "userMetadata": metadata,
        "timestamp": datetime.fromtimestamp(1, UTC),
        "operation": "WRITE",
        "operationMetrics": {"numOutputRows": "2"},
    }


def applied(history: list[dict[str, Any]], *, committed: int | None) -> AppliedJob:
    """Return the result of a write; `committed` is the version in the session, None if Delta skipped it."""

    def sql(text: str) -> Any:
        limit = int(text.rpartition("LIMIT ")[2]) if "LIMIT" in text else None
        return SimpleNamespace(collect=lambda: history[:limit])

    last = None if committed is None else str(committed)
    session: Any = SimpleNamespace(sql=sql, conf=SimpleNamespace(get=lambda *_: last))
    addressing: Any = SimpleNamespace(sql_name=lambda table: f"`{table}`")
    return DeltaTables(addressing=addressing)._applied_job("orders", MARK, session)


def test_a_commit_in_the_history_is_applied() -> None:
    job = applied([commit(7, MARK), commit(6)], committed=7)

    assert (job.version_before, job.version_after, job.skipped) == (6, 7, False)


def test_a_skipped_write_is_applied_if_its_commit_is_in_the_history() -> None:
    job = applied([commit(9), commit(8), commit(7, MARK), commit(6)], committed=None)

    assert (job.version_before, job.version_after, job.skipped) == (6, 7, True)


@pytest.mark.parametrize("history", [[commit(6)], [commit(7, OTHERS), commit(6)]], ids=["none", "other"])
def test_a_skipped_write_without_a_commit_in_the_history_is_an_error(
    history: list[dict[str, Any]],
) -> None:
    """Delta silently skips a write whose transaction number is not above the last one."""
    with pytest.raises(DestinationAhead):
        applied(history, committed=None)


def test_a_commit_that_only_the_session_reports_is_lost() -> None:
    with pytest.raises(CommitLost):
        applied([commit(7, OTHERS), commit(6)], committed=7)


REFUSED = "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"


class Conf(dict[str, str]):
    """Settings of a session."""

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        self.pop(key, None)


class SlowTables:
    """Refuse the first read of each table, as Delta's checks do; then block the second until it may end."""

    def __init__(self) -> None:
        # All made at once: threads that ask for one at the same time must not get two.
        self.is_refused, self.is_read, self.may_end = (
            {table: threading.Event() for table in ("first", "second")} for _ in range(3)
        )

    def read(self, table: str, version: int | None, *, spark: Any) -> None:
        del version, spark
        if not self.is_refused[table].is_set():
            self.is_refused[table].set()
            raise AnalysisException("a rule", errorClass=REFUSED, messageParameters={})
        self.is_read[table].set()
        assert self.may_end[table].wait(60)


def test_parallel_reads_restore_the_settings_of_the_session() -> None:
    addressing, spark = SlowTables(), cast("Any", SimpleNamespace(conf=Conf()))
    tables = DeltaTables(addressing=cast("DeltaAddressing", addressing))

    def reading(table: str) -> threading.Thread:
        thread = threading.Thread(target=tables.read, args=(table,), kwargs={"spark": spark})
        thread.start()
        assert addressing.is_refused[table].wait(60)
        return thread

    first = reading("first")
    assert addressing.is_read["first"].wait(60)
    second = reading("second")
    time.sleep(0.2)  # it could see now what the first one has set
    addressing.may_end["first"].set()
    first.join(60)
    addressing.may_end["second"].set()
    second.join(60)

    assert addressing.is_read["second"].is_set()
    assert spark.conf == {}


class RecordingTables:
    """Have every table, and record the options of writes."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}

    def exists(self, table: str, *, spark: Any) -> bool:
        del table, spark
        return True

    def write(self, table: str, rows: Any, mode: str, options: dict[str, str], partitions: Any) -> None:
        del table, rows, mode, partitions
        self.options = dict(options)


class Applied(DeltaTables):
    """Delta tables that do not read their history after a write."""

    def _applied_job(self, table: str, mark: LoadMark, spark: Any) -> AppliedJob:
        del mark, spark
        return AppliedJob(table=table)


def test_a_replace_overwrites_all_partitions_whatever_the_session_sets() -> None:
    addressing, spark = RecordingTables(), cast("Any", SimpleNamespace(conf=Conf()))
    tables = Applied(addressing=cast("DeltaAddressing", addressing))
    mark = LoadMark(pipeline_name="shop", load_id="1.0", sequence=1, manifest_hash="ab")

    tables.overwrite(Table(name="orders"), cast("Any", None), mark, spark=spark)
    replaced = addressing.options
    tables.append(Table(name="orders"), cast("Any", None), mark, spark=spark)

    assert replaced["partitionOverwriteMode"] == "static"
    assert OWN_CONF["spark.sql.sources.partitionOverwriteMode"] == "static"
    assert "partitionOverwriteMode" not in addressing.options
