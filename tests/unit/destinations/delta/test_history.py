"""The history of a Delta table, and the metadata of its commits."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from penstock.destinations.delta.history import (
    SCHEMA_METADATA,
    TableHistory,
    create_table_metadata,
    fence_metadata,
    is_in_effect,
    is_without_rows,
    load_metadata,
    maintenance_metadata,
    other_changes,
    parse_commit,
    undo_metadata,
)
from penstock.errors import CommitRolledBack, DestinationTerminalException
from penstock.interfaces import AppliedJob, LoadMark, TableCommit


def test_a_commit_of_a_load_names_it_and_its_pipeline() -> None:
    mark = LoadMark(pipeline_name="shop", sequence=3, load_id="17.5", manifest_hash="ab")

    assert parse_commit(4, load_metadata(mark)) == TableCommit(
        version=4, load_id="17.5", pipeline_name="shop"
    )


def test_a_commit_of_an_early_release_names_its_load() -> None:
    metadata = json.dumps({"load_id": "17.5", "sequence": 3, "manifest": "ab"})

    assert parse_commit(4, metadata) == TableCommit(version=4, load_id="17.5")


def test_a_commit_that_undoes_a_load_names_it() -> None:
    assert parse_commit(5, json.dumps({"undone": "17.5", "version": 4})) == TableCommit(
        version=5, undoes="17.5"
    )


def test_a_commit_that_creates_a_table_is_part_of_its_load_but_not_the_commit_of_its_rows() -> None:
    mark = LoadMark(pipeline_name="shop", sequence=3, load_id="17.5", manifest_hash="ab")

    assert parse_commit(0, create_table_metadata(mark)) == TableCommit(
        version=0, load_id="17.5", pipeline_name="shop"
    )
    assert create_table_metadata(mark) != load_metadata(mark)


def test_commits_without_rows_do_not_prevent_undo() -> None:
    assert is_without_rows(maintenance_metadata("17.5"), "17.5")
    assert is_without_rows(fence_metadata("3.5"), "17.5")
    assert is_without_rows(SCHEMA_METADATA, "17.5")
    assert not is_without_rows(maintenance_metadata("3.5"), "17.5")
    assert not is_without_rows(None, "17.5")
    assert parse_commit(1, fence_metadata("3.5")) == TableCommit(version=1)
    assert parse_commit(1, SCHEMA_METADATA) == TableCommit(version=1), "readers see an empty table at once"


def commit(version: int, operation: str = "WRITE", to: str | None = None, text: str | None = None) -> Any:
    return {
        "version": version,
        "operation": operation,
        "operationParameters": {"version": to} if to is not None else {},
        "userMetadata": text,
    }


UNDONE = undo_metadata(AppliedJob(table="items", version_after=4), "17.5")


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ([], True),
        ([commit(5), commit(6)], True),
        ([commit(5, "RESTORE", "3")], False),
        ([commit(5, "RESTORE", "4")], True),
        ([commit(5, "RESTORE", "3"), commit(6)], False),
        ([commit(5, "RESTORE", "3"), commit(6, "RESTORE", "4")], True),
        ([commit(5, "RESTORE", "3"), commit(6), commit(7, "RESTORE", "5")], False),
        ([commit(5), commit(6, "RESTORE", "3"), commit(7, "RESTORE", "5")], True),
        ([commit(5, text=UNDONE)], False),
        ([commit(5, "RESTORE")], None),
        ([commit(5, "RESTORE"), commit(6, "RESTORE", "4")], True),
    ],
)
def test_the_commits_after_a_job_decide_whether_it_is_in_effect(
    since: list[Any], expected: bool | None
) -> None:
    applied = AppliedJob(table="items", version_after=4)

    assert is_in_effect(since[::-1], applied, "17.5") is expected


MARK = LoadMark(pipeline_name="shop", sequence=3, load_id="1700000000.5", manifest_hash="ab")


def history(*commits: Any) -> TableHistory:
    """Return a history of commits, given oldest first."""
    return TableHistory(table="items", read_commits=lambda limit: [*reversed(commits)][:limit])


def test_the_commit_of_a_load_is_that_of_its_rows() -> None:
    making, writing = (
        commit(0, "CREATE TABLE", text=create_table_metadata(MARK)),
        commit(1, text=load_metadata(MARK)),
    )

    assert history(making).commits_of_load(MARK) == []
    assert history(making, writing, commit(2)).commits_of_load(MARK) == [writing, making]


@pytest.mark.parametrize(
    ("version", "moment", "expected"), [(0, 1800000000, True), (9, 1600000000, True), (9, 1800000000, False)]
)
def test_a_history_reaches_back_to_a_load_if_its_oldest_commit_came_before_it(
    version: int, moment: int, expected: bool
) -> None:
    oldest = {**commit(version), "timestamp": datetime.fromtimestamp(moment)}

    assert history(oldest, commit(version + 1)).reaches_back_to(MARK) is expected


def test_undo_of_a_table_with_later_changes_is_refused() -> None:
    applied = AppliedJob(table="items", version_after=4)

    assert not history(commit(4), commit(5, text=fence_metadata("3.5"))).is_undone(applied, "17.5")
    assert history(commit(4), commit(5, "RESTORE", "3")).is_undone(applied, "17.5")
    with pytest.raises(DestinationTerminalException, match="cannot be rolled back"):
        history(commit(4), commit(5)).is_undone(applied, "17.5")
    history(commit(4), commit(5)).check_in_effect(applied, "17.5")
    with pytest.raises(CommitRolledBack):
        history(commit(4), commit(5, "RESTORE", "3")).check_in_effect(applied, "17.5")


@pytest.mark.parametrize(
    "metadata", [None, "", "{", "[]", "7", '"x"', '{"load_id": "mine"}', '{"undone": 1}', "hello"]
)
def test_metadata_of_other_writers_is_ignored(metadata: str | None) -> None:
    assert parse_commit(1, metadata) == TableCommit(version=1)


def test_commits_that_change_rows_and_are_not_of_own_loads_are_described() -> None:
    mark = LoadMark(pipeline_name="other", sequence=3, load_id="17.5", manifest_hash="ab")
    own = LoadMark(pipeline_name="shop", sequence=3, load_id="16.5", manifest_hash="ab")
    aborted = LoadMark(pipeline_name="shop", sequence=4, load_id="18.5", manifest_hash="ab")
    texts = (
        ("WRITE", load_metadata(own)),
        ("MERGE", load_metadata(mark)),
        ("OPTIMIZE", None),
        ("SET TBLPROPERTIES", SCHEMA_METADATA),
        ("WRITE", load_metadata(aborted)),
        ("RESTORE", undo_metadata(AppliedJob(table="items", version_after=5), "18.5")),
        ("WRITE", fence_metadata("18.5")),
        ("DELETE", None),
    )
    commits: list[Any] = [
        {"version": version, "operation": operation, "userMetadata": text}
        for version, (operation, text) in enumerate(texts, start=1)
    ]

    assert other_changes(commits[::-1], {"16.5"}) == (
        "version 2 (MERGE) by load 17.5 of other",
        "version 8 (DELETE) by another writer",
    )
