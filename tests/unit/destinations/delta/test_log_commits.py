"""Commits read from the files of a Delta log, whoever wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from penstock.destinations.delta.log_commits import commit_name, read_commit, read_commits
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path))


def put(store: FileStorage, version: int, *actions: Any) -> None:
    lines = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    store.put(f"items/_delta_log/{commit_name(version)}", lines.encode())


def info(operation: str, **facts: Any) -> dict[str, Any]:
    return {"commitInfo": {"operation": operation, "timestamp": 1_700_000_000_000, **facts}}


def test_the_newest_commits_are_first(store: FileStorage) -> None:
    for version in range(12):
        put(store, version, info("WRITE", userMetadata=f"load {version}"), {"add": {"path": "a"}})
    store.put("items/_delta_log/00000000000000000010.checkpoint.parquet", b"")
    store.put("items/_delta_log/_last_checkpoint", b"{}")

    commits = read_commits(store, "items", 2)

    assert commits is not None
    assert [(commit["version"], commit["userMetadata"]) for commit in commits] == [
        (11, "load 11"),
        (10, "load 10"),
    ]
    assert commits[0]["timestamp"].timestamp() == 1_700_000_000
    assert len(read_commits(store, "items", None) or ()) == 12


@pytest.mark.parametrize("files", [1, 3_000])
def test_the_facts_of_a_commit_may_come_after_its_files(store: FileStorage, files: int) -> None:
    added = [{"add": {"path": f"part-{number:05}.parquet", "stats": "{}"}} for number in range(files)]
    put(store, 0, {"protocol": {}}, *added, info("CREATE TABLE"))
    commit = read_commit(store, "items", 0)
    assert commit is not None
    assert (commit["operation"], commit["userMetadata"]) == ("CREATE TABLE", None)


def test_a_commit_may_have_no_facts(store: FileStorage) -> None:
    put(store, 0, {"add": {"path": "a"}})
    commit = read_commit(store, "items", 0)
    assert commit is not None
    assert commit["operation"] is commit["operationMetrics"] is None
    assert read_commit(store, "items", 1) is None


def test_spark_reads_logs_without_commits_and_long_histories(store: FileStorage) -> None:
    assert read_commits(store, "items", 1) is None
    for version in range(101):
        put(store, version, info("WRITE"))
    assert read_commits(store, "items", None) is None
    assert len(read_commits(store, "items", 50) or ()) == 50
