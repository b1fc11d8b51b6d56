"""The commits in the log of a Delta table by path, read from its files. No Spark here."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage

LOG_FOLDER: Final = "_delta_log"
COMMIT_NAME: Final = re.compile(r"(\d{20})\.json")
# Enough for the metadata of a commit, mostly the first line of its file.
_HEAD_BYTES: Final = 1 << 16
_READERS: Final = 8
# More commits than that are read by a job of Spark.
_MAX_COMMITS: Final = 100
_INFO: Final = b'{"commitInfo"'
_NO_FACTS: Final = {
    "operation": None,
    "operationMetrics": None,
    "operationParameters": None,
    "userMetadata": None,
}


def commit_name(version: int) -> str:
    """Return the name of a commit's file.

    >>> commit_name(7)
    '00000000000000000007.json'
    """
    return f"{version:020}.json"


def read_commits(store: FileStorage, table: str, limit: int | None) -> list[dict[str, Any]] | None:
    """Return the newest commits of a table, newest first, by their names in Spark's history.

    None if the log has no commits, or so many that Spark should read them.
    """
    names = [name for name in store.names(f"{table}/{LOG_FOLDER}") if COMMIT_NAME.fullmatch(name)]
    newest = sorted((int(name.partition(".")[0]) for name in names), reverse=True)[:limit]
    if not newest or len(newest) > _MAX_COMMITS:
        return None
    with ThreadPoolExecutor(min(_READERS, len(newest)), thread_name_prefix="penstock-log") as threads:
        commits = list(threads.map(lambda version: read_commit(store, table, version), newest))
    # Another writer may delete old commits meanwhile.
    return [commit for commit in commits if commit is not None] or None


def read_commit(store: FileStorage, table: str, version: int) -> dict[str, Any] | None:
    """Return one commit by its names in Spark's history; None if there is none."""
    name = f"{table}/{LOG_FOLDER}/{commit_name(version)}"
    head = store.read_start(name, _HEAD_BYTES)
    if head is None:
        return None
    if len(head) == _HEAD_BYTES and _info_line(head[: head.rfind(b"\n") + 1]) is None:
        with store.open(name) as stream:
            head = stream.read()
    return commit_facts(version, head)


def commit_facts(version: int, content: bytes) -> dict[str, Any]:
    r"""Return the facts of a commit file by their names in Spark's history; other writers may leave some out.

    >>> commit_facts(3, b'{"add":{}}\n{"commitInfo":{"operation":"WRITE"}}\n')["operation"]
    'WRITE'
    """
    info = json.loads(_info_line(content) or "{}").get("commitInfo") or {}
    moment = info.get("inCommitTimestamp") or info.get("timestamp") or 0
    return {**_NO_FACTS, **info, "version": version, "timestamp": datetime.fromtimestamp(moment / 1000, UTC)}


def _info_line(content: bytes) -> bytes | None:
    return next((line for line in content.splitlines() if line.startswith(_INFO)), None)
