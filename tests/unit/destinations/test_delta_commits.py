"""A commit to a Delta table counts once it is in the table's history; so must be what Delta has skipped."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.destinations.delta.commit_metadata import load_metadata
from penstock.destinations.delta.run import DeltaTables
from penstock.errors import CommitLost, DestinationAhead
from penstock.interfaces import AppliedJob, LoadMark

MARK = LoadMark(pipeline_name="shop", sequence=3, load_id="17.5", manifest_hash="ab")
OTHERS = LoadMark(pipeline_name="shop", sequence=3, load_id="17.4", manifest_hash="cd")


def commit(version: int, mark: LoadMark | None = None) -> dict[str, Any]:
    said = None if mark is None else load_metadata(mark)
    return {
        "version": version,
        "userMetadata": said,
        "timestamp": datetime.fromtimestamp(1, UTC),
        "operation": "WRITE",
        "operationMetrics": {"numOutputRows": "2"},
    }


def applied(history: list[dict[str, Any]], *, committed: int | None) -> AppliedJob:
    """What a write came to; `committed` is the version that the session reports, None where Delta skipped."""

    def sql(text: str) -> Any:
        limit = int(text.rpartition("LIMIT ")[2]) if "LIMIT" in text else None
        return SimpleNamespace(collect=lambda: history[:limit])

    last = None if committed is None else str(committed)
    session: Any = SimpleNamespace(sql=sql, conf=SimpleNamespace(get=lambda *_: last))
    place: Any = SimpleNamespace(sql_name=lambda table: f"`{table}`")
    return DeltaTables(addressing=place)._applied_job("orders", MARK, session)


def test_a_commit_that_is_in_the_history_counts() -> None:
    job = applied([commit(7, MARK), commit(6)], committed=7)

    assert (job.version_before, job.version_after, job.skipped) == (6, 7, False)


def test_a_write_that_was_skipped_counts_where_its_commit_is_in_the_history() -> None:
    job = applied([commit(9), commit(8), commit(7, MARK), commit(6)], committed=None)

    assert (job.version_before, job.version_after, job.skipped) == (6, 7, True)


@pytest.mark.parametrize("history", [[commit(6)], [commit(7, OTHERS), commit(6)]], ids=["none", "other"])
def test_a_write_that_was_skipped_and_is_not_in_the_history_is_an_error(
    history: list[dict[str, Any]],
) -> None:
    """Delta drops rows without a word where a transaction's number is not above the last one."""
    with pytest.raises(DestinationAhead):
        applied(history, committed=None)


def test_a_commit_that_the_session_reports_and_the_history_lacks_is_lost() -> None:
    with pytest.raises(CommitLost):
        applied([commit(7, OTHERS), commit(6)], committed=7)
